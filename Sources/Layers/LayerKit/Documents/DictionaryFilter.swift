// Predicates over the dictionaries of documents.

package import FirebaseFirestore
private import Foundation

/// A filter that a layer applies to the results of a query. The database does not evaluate the filter, so
/// limits and cursors also count documents that the filter rejects.
package struct DictionaryFilter {
  private var predicates: [NSPredicate] = []

  package init() {}

  package var isEmpty: Bool { predicates.isEmpty }

  /// Returns a filter that also requires the predicate.
  package func adding(_ predicate: NSPredicate) -> DictionaryFilter {
    var filter = self
    filter.predicates.append(predicate)
    return filter
  }

  package func accepts(_ document: QueryDocumentSnapshot) -> Bool {
    guard !predicates.isEmpty else { return true }
    let fields = document.data(with: .estimate)
    return predicates.allSatisfy { $0.evaluate(with: fields) }
  }
}
