// What a trained dictionary makes of columns of text, as seals would use it.
#ifndef CISTERN_BENCH_TRAINED_TEXTS_H_
#define CISTERN_BENCH_TRAINED_TEXTS_H_

#include <cstddef>
#include <string>
#include <vector>

namespace cistern::bench {

// Lines of a gateway's log, with numbers in them, 51 bytes each: the same on every machine.
[[nodiscard]] std::vector<std::string> LogLines(size_t count);

// Prints bytes and CPU a cell, without a dictionary and with the one that a TextTrainer takes after
// the first pages, of all pages behind those; "none" where it takes none.
void PrintTrained(const std::string& name, const std::vector<std::string>& cells,
                  size_t page_rows);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_TRAINED_TEXTS_H_
