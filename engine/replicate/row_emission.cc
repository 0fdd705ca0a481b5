#include "engine/replicate/row_emission.h"

namespace cistern::replicate {
namespace {

using Life = Emission::Life;

constexpr CellBinding kAsTheyAre = {CellBind::kItself, CellBind::kNull};
constexpr CellBinding kValuesOnly = {CellBind::kItself, CellBind::kUnset};
constexpr CellBinding kNullsOnly = {CellBind::kUnset, CellBind::kNull};
constexpr CellBinding kDeleted = {CellBind::kNull, CellBind::kNull};
constexpr CellBinding kNoCells = {CellBind::kUnset, CellBind::kUnset};

Emission Deletion(CellBinding cells) { return {StatementKind::kUpdate, cells, Life::kEndless}; }

Emission Setting(const VersionTraits& version, const EmissionRules& rules, CellBinding cells) {
  Life life = Life::kEndless;
  if (version.expires) {
    life = version.is_expired && !rules.names_now ? Life::kSecond : Life::kExpiry;
  }
  const bool has_ttl = life != Life::kEndless;
  if (version.has_liveness) {
    return {has_ttl ? StatementKind::kInsertTtl : StatementKind::kInsert, cells, life};
  }
  return {has_ttl ? StatementKind::kUpdateTtl : StatementKind::kUpdate, cells, life};
}

// A version that is over and shadows: nothing of it may show again, nor what it covers.
std::optional<Emission> EmitShadow(const VersionTraits& version, const EmissionRules& rules) {
  const bool has_cells = version.has_values || version.has_nulls;
  if (rules.pass == PushPass::kDeletions) {
    return has_cells ? std::optional(Deletion(kDeleted)) : std::nullopt;
  }
  const CellBinding cells = rules.pass == PushPass::kRows ? kNoCells : kDeleted;
  if (version.has_liveness) return Setting(version, rules, cells);
  if (rules.pass == PushPass::kRows || !has_cells) return std::nullopt;
  return Deletion(cells);
}

}  // namespace

std::optional<Emission> EmitVersion(const VersionTraits& version, const EmissionRules& rules) {
  if (version.deletes_row) {
    if (rules.pass == PushPass::kRows) return std::nullopt;
    return Emission{StatementKind::kDeleteRow, kNoCells, Life::kEndless};
  }
  if (version.is_expired && !version.may_shadow) return std::nullopt;
  if (version.is_expired && rules.mode == TimestampMode::kWriteTime) {
    return EmitShadow(version, rules);
  }
  if (rules.pass == PushPass::kDeletions) {
    const bool deletes = version.has_nulls || version.replaces_elements;
    return deletes ? std::optional(Deletion(kNullsOnly)) : std::nullopt;
  }
  const bool nulls_are_here = version.has_nulls && rules.pass == PushPass::kWhole;
  if (!version.has_liveness && !version.has_values && !nulls_are_here) return std::nullopt;
  if (!version.has_values && !version.has_liveness) return Deletion(kNullsOnly);
  return Setting(version, rules, rules.pass == PushPass::kRows ? kValuesOnly : kAsTheyAre);
}

}  // namespace cistern::replicate
