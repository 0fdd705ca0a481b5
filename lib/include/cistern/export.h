// Marks what the shared library exports. Everything else is hidden.
#ifndef CISTERN_EXPORT_H_
#define CISTERN_EXPORT_H_

#define CISTERN_EXPORT [[gnu::visibility("default")]]

#endif  // CISTERN_EXPORT_H_
