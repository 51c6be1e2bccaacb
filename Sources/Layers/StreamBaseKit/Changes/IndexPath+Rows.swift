// Rows and sections where no kit for user interfaces brings them.

public import Foundation

#if !canImport(UIKit) && !canImport(AppKit)
extension IndexPath {
  /// Traps unless the path has two indexes.
  public var section: Int { self[0] }

  /// The row.
  public var item: Int { self[1] }

  /// A place in a section.
  public init(item: Int, section: Int) { self.init(indexes: [section, item]) }
}
#endif

#if !canImport(UIKit)
extension IndexPath {
  /// Traps unless the path has two indexes.
  public var row: Int { self[1] }

  /// A place in a section.
  public init(row: Int, section: Int) { self.init(indexes: [section, row]) }
}
#endif

extension IndexPath {
  static func paths(_ rows: [Int], section: Int = 0) -> [IndexPath] {
    rows.map { IndexPath(row: $0, section: section) }
  }
}
