// A query with its conditions, order and limit.

package import DocumentStore
private import FirebaseCore
public import Foundation

/// An immutable query for documents. Each step returns a new query.
///
/// ```swift
/// let query = Firestore.firestore().collection("cities")
///   .whereField("population", isGreaterThan: 1_000_000)
///   .order(by: "population", descending: true)
///   .limit(to: 10)
/// ```
///
/// Two queries are equal if they were built in the same way for the same `Firestore`. An invalid step, such
/// as a limit of zero, traps with the message of Firestore's own library. Within ``Firestore/validated(_:)``,
/// it throws.
///
/// A query may have at most 100 parts: its filters, its orders, and the names in the path of its collection's
/// parent. A larger query can be built, but fails with `invalidArgument` when it is run.
public class Query: NSObject, @unchecked Sendable {
  // Unchecked, because the class is not final, as in the original. All its properties are constants.
  /// The database that the query reads.
  public let firestore: Firestore
  package let structured: StructuredQuery
  /// The steps that exceed the size limit of a query; nil for a query that can be run. If it is not nil,
  /// `structured` contains only the first steps.
  let excess: QueryExcess?

  package init(_ firestore: Firestore, _ structured: StructuredQuery) {
    self.firestore = firestore
    self.structured = structured
    excess = nil
  }

  private init(_ query: Query, _ structured: StructuredQuery, excess: QueryExcess?) {
    firestore = query.firestore
    self.structured = structured
    self.excess = excess
  }

  /// The query for an invalid one in a validation. It fails when it is run, because no collection can have
  /// its name.
  var placeholder: Query {
    Query(firestore, StructuredQuery(.collection(CollectionPath(unchecked: [PathText.placeholder]))))
  }

  /// Returns this query after one more step.
  func refined(
    _ step: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery
  ) -> Query {
    do throws(DocumentStoreError) {
      return Query(self, try step(structured), excess: excess)
    } catch {
      ProgrammerError.report(error.description)
      return placeholder
    }
  }

  /// Returns this query after a step that adds `parts` filters or orders. While the query stays within the
  /// size limit, `step` adds them. The first step that exceeds the limit calls `fill`, which makes the
  /// structured query too large to run. `exceed` records that step and all later steps.
  func refined(
    adding parts: Int, _ step: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery,
    fill: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery,
    exceed: (QueryExcess) throws(DocumentStoreError) -> QueryExcess
  ) -> Query {
    do throws(DocumentStoreError) {
      if let excess { return Query(self, structured, excess: try exceed(excess)) }
      guard structured.partCount + parts > QueryLimits().partsMax else { return refined(step) }
      return Query(self, try fill(structured), excess: try exceed(QueryExcess(beyond: structured)))
    } catch {
      ProgrammerError.report(error.description)
      return placeholder
    }
  }

  /// Returns this query after a step that sets a cursor. If the query is too large, its excess records the
  /// complete cursor.
  func refined(
    settingCursor cursor: QueryExcess.CursorStep,
    _ step: (StructuredQuery) throws(DocumentStoreError) -> StructuredQuery
  ) -> Query {
    do throws(DocumentStoreError) {
      return Query(self, try step(structured), excess: excess?.setting(cursor))
    } catch {
      ProgrammerError.report(error.description)
      return placeholder
    }
  }

  /// The number of explicit orders, including those beyond the limit.
  var orderCount: Int { excess?.orderCount ?? structured.explicitOrders.count }

  /// The misuse that Firestore's own library detects only when a query is run: a limit from the end without
  /// an order. Nil if there is none.
  private var lateMisuse: String? {
    guard case .last = structured.limit, orderCount == 0 else { return nil }
    return "limit(toLast:) queries require specifying at least one OrderBy() clause."
  }

  /// Reports a misuse that Firestore's own library detects when a query is run, for calls that cannot throw.
  func reportLateMisuse() {
    if let lateMisuse { ProgrammerError.report(lateMisuse) }
  }

  /// The query in the form that the engine runs. Throws if it has a limit from the end and no order, if it is
  /// too large, or if no collection can have its name.
  var runnable: StructuredQuery {
    get throws {
      if let lateMisuse { throw FirestoreErrors.make(.invalidArgument, lateMisuse) }
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

  /// Whether both queries were built in the same way. For filters that are nested too deep, only the numbers
  /// of conditions are compared.
  public override func isEqual(_ object: Any?) -> Bool {
    // A collection reference never equals a plain query, because it also has methods to create documents. Its
    // class defines its own equality.
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

extension Query: Validatable {
  func validate() throws { _ = try runnable }
}
