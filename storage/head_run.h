// HeadRun: packed row versions of one bucket, in chunks that grow with it.
#ifndef CISTERN_STORAGE_HEAD_RUN_H_
#define CISTERN_STORAGE_HEAD_RUN_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "cistern/row_batch.h"
#include "storage/head_arena.h"
#include "storage/head_layout.h"

namespace cistern {

// Rows in the order of their arrival. The first eight chunks hold 4 rows each, the next four
// 8, the four after those 16, and so on up to about 32 KiB: nothing is copied when a run
// grows, and at most a fifth of it is empty. Lives in the arena; const methods may run at
// the same time.
class HeadRun {
 public:
  // The rows of a chunk, and what only some rows have: made when the first needs it.
  struct Chunk {
    char* rows = nullptr;
    uint8_t* states = nullptr;    // CellState by row, then layout column
    uint32_t* expiry = nullptr;   // seconds, by row
    uint32_t* boot = nullptr;     // by row
  };
  // One row. Valid while the head lives.
  struct Ref {
    const char* row = nullptr;
    const Chunk* chunk = nullptr;
    uint32_t index = 0;  // in the chunk
    [[nodiscard]] uint32_t expiry_s() const {
      return chunk->expiry == nullptr ? 0 : chunk->expiry[index];
    }
    [[nodiscard]] uint32_t boot() const { return chunk->boot == nullptr ? 0 : chunk->boot[index]; }
    [[nodiscard]] CellState state(const HeadLayout& layout, size_t column) const {
      if (chunk->states == nullptr) return CellState::kValue;
      return static_cast<CellState>(chunk->states[index * layout.columns.size() + column]);
    }
  };

  // Rows that lie one behind the other.
  struct Piece {
    Ref first;
    uint32_t count = 0;
  };

  void Append(const HeadLayout& layout, HeadArena* arena, const RowBatch& batch, size_t row,
              const RowStamp& stamp);

  [[nodiscard]] uint32_t size() const { return count_; }
  [[nodiscard]] const char* last_row() const { return last_; }  // null: no rows
  [[nodiscard]] Ref At(const HeadLayout& layout, uint32_t i) const;
  // Appends the rows [begin, end).
  void GetPieces(const HeadLayout& layout, uint32_t begin, uint32_t end,
                 std::vector<Piece>* out) const;

 private:
  [[nodiscard]] static uint32_t ChunkRows(const HeadLayout& layout, uint32_t chunk);
  void AddChunk(const HeadLayout& layout, HeadArena* arena);
  [[nodiscard]] uint64_t TextWord(const HeadLayout::Column& c, HeadArena* arena,
                                  std::string_view text) const;
  void PutRare(const HeadLayout& layout, HeadArena* arena, const CellState* states, bool missing,
               const RowStamp& stamp);

  char* next_ = nullptr;        // where the next row goes
  const char* last_ = nullptr;  // the newest row
  Chunk* chunks_ = nullptr;
  uint32_t left_ = 0;           // rows that the last chunk still takes
  uint32_t count_ = 0;
  uint32_t chunk_count_ = 0;
  uint32_t chunk_room_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_RUN_H_
