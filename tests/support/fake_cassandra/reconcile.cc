#include "tests/support/fake_cassandra/reconcile.h"

namespace cistern::fake_cassandra {

const StoredCell& Winner(const StoredCell& a, const StoredCell& b) {
  if (a.timestamp_us != b.timestamp_us) return a.timestamp_us > b.timestamp_us ? a : b;
  const bool a_ends = a.local_deletion_s != kNever;
  const bool b_ends = b.local_deletion_s != kNever;
  if (a_ends != b_ends) return a_ends ? a : b;
  if (a_ends) {
    // A tombstone wins over an expiring cell of any expiry, expired or not.
    if (a.is_tombstone() != b.is_tombstone()) return a.is_tombstone() ? a : b;
    if (a.local_deletion_s != b.local_deletion_s) {
      return a.local_deletion_s > b.local_deletion_s ? a : b;
    }
    // Of two that expire together the smaller TTL was written later. Values are not asked then.
    if (a.ttl_s != b.ttl_s) return a.ttl_s < b.ttl_s ? a : b;
  }
  // std::string compares as unsigned bytes.
  return a.value.compare(b.value) >= 0 ? a : b;
}

const RowMarker& Winner(const RowMarker& a, const RowMarker& b) {
  if (a.timestamp_us != b.timestamp_us) return a.timestamp_us > b.timestamp_us ? a : b;
  const bool a_expires = a.ttl_s != 0;
  const bool b_expires = b.ttl_s != 0;
  if (a_expires != b_expires) return a_expires ? a : b;
  if (a.expiry_s != b.expiry_s) return a.expiry_s > b.expiry_s ? a : b;
  return a.ttl_s <= b.ttl_s ? a : b;
}

const Deletion& Winner(const Deletion& a, const Deletion& b) {
  if (a.timestamp_us != b.timestamp_us) return a.timestamp_us > b.timestamp_us ? a : b;
  return a.local_s >= b.local_s ? a : b;
}

}  // namespace cistern::fake_cassandra
