// A query: which documents, in which order, how many.

package import DocumentStore
private import FirebaseCore
public import Foundation

/// A question for documents. It never changes: each step makes a new query.
///
/// ```swift
/// let query = Firestore.firestore().collection("cities")
///   .whereField("population", isGreaterThan: 1_000_000)
///   .order(by: "population", descending: true)
///   .limit(to: 10)
/// ```
///
/// Two are equal if they were built the same way for the same `Firestore`. What no query can be, such as a
/// limit of zero, traps with the original's message. A query of more than 100 filters, orders and names in the path of
/// its collection's parent can be built, and fails with `invalidArgument` when it is run.
public class Query: NSObject, @unchecked Sendable {
  // Unchecked, because the class is not final, as in the original; all that it has are constants.
  /// Where the documents are.
  public let firestore: Firestore
  package let structured: StructuredQuery
  /// For a query too large to run, which `structured` has the beginning of.
  let excess: QueryExcess?

  package init(_ firestore: Firestore, _ structured: StructuredQuery) {
    self.firestore = firestore
    self.structured = structured
    excess = nil
  }

  private init(_ query: Query, _ structured: StructuredQuery, _ excess: QueryExcess?) {
    firestore = query.firestore
    self.structured = structured
    self.excess = excess
  }

  /// This query after one more step.
  func refined(
    _ step: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery
  ) -> Query {
    do throws(DocumentStoreError) {
      return Query(self, try step(structured), excess)
    } catch {
      ProgrammerError.trap(error.description)
    }
  }

  /// This query after a step that adds `parts` filters or orders: by `step`, as long as there is room for them. The
  /// first step beyond has `fill` make the structured query too large to run, and `exceed` notes it and all further ones.
  func refined(
    adding parts: Int, _ step: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery,
    fill: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery,
    exceed: (QueryExcess) throws(DocumentStoreError) -> QueryExcess
  ) -> Query {
    do throws(DocumentStoreError) {
      if let excess { return Query(self, structured, try exceed(excess)) }
      guard structured.partCount + parts > QueryLimits().partsMax else { return refined(step) }
      return Query(self, try fill(structured), try exceed(QueryExcess(beyond: structured)))
    } catch {
      ProgrammerError.trap(error.description)
    }
  }

  /// This query after a step that sets a cursor, which an excess notes whole.
  func refined(
    settingCursor cursor: QueryExcess.CursorStep,
    _ step: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery
  ) -> Query {
    do throws(DocumentStoreError) {
      return Query(self, try step(structured), excess?.setting(cursor))
    } catch {
      ProgrammerError.trap(error.description)
    }
  }

  /// Orders that were asked for, those beyond the limit too.
  var orderCount: Int { excess?.orderCount ?? structured.explicitOrders.count }

  /// The query for the engine. Traps where the original does so late; throws if no collection can have the
  /// name.
  var runnable: StructuredQuery {
    get throws {
      if case .last = structured.limit, orderCount == 0 {
        ProgrammerError.trap(
          "limit(toLast:) queries require specifying at least one OrderBy() clause.")
      }
      do throws(PathError) {
        switch structured.scope {
        case .collection(let path): try path.check()
        case .collectionGroup(let id): try CollectionPath(unchecked: [id]).check()
        case .document(let path): try path.check()
        }
      } catch {
        throw FirestoreErrors.translate(error)
      }
      if let excess {
        throw FirestoreErrors.make(
          .invalidArgument,
          "The query has \(excess.partCount + structured.parentNameCount) filters, orders and names in the parent's "
            + "path, and the limit is \(QueryLimits().partsMax).")
      }
      return structured
    }
  }

  /// Whether both were built the same way. Filters nested too deep for any query to run with them compare by the number
  /// of their conditions alone.
  public override func isEqual(_ object: Any?) -> Bool {
    // A collection is more than the query for its documents, and decides by itself.
    guard let other = object as? Query, type(of: other) == type(of: self) else { return false }
    return firestore === other.firestore && structured == other.structured && excess == other.excess
  }

  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(ObjectIdentifier(firestore))
    hasher.combine(structured.scope)
    hasher.combine(structured.explicitOrders)
    hasher.combine(structured.limit)
    return hasher.finalize()
  }
}
