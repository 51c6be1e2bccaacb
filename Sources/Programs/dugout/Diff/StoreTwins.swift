// Finds stores that are equal without a look at their documents.

import ByteStore
import DocumentStore
import Foundation
import StoreTools

enum StoreTwins {
  /// Returns why two stores are equal; nil if that is unknown. Errors are left to the comparison.
  static func reason(_ directory: String, _ other: String) throws -> String? {
    guard StoreFinder.isStore(directory), StoreFinder.isStore(other) else { return nil }
    if isSameDirectory(directory, other) { return "both names lead to the same directory" }
    // The files of a store that is open for writing change.
    guard StoreAccess.session == nil, !StoreAccess.hasWriter(directory), !StoreAccess.hasWriter(other),
      (try? ByteStore.haveSameFiles(directory, other)) == true
    else { return nil }
    return "their files are copies of each other"
  }

  private static func isSameDirectory(_ directory: String, _ other: String) -> Bool {
    var (left, right) = (stat(), stat())
    return stat(directory, &left) == 0 && stat(other, &right) == 0 && left.st_dev == right.st_dev
      && left.st_ino == right.st_ino
  }
}
