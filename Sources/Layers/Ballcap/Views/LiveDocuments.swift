// The documents of a query in SwiftUI views.

#if canImport(SwiftUI)
public import SwiftUI

/// The live documents of a query in a view.
///
/// ```swift
/// struct CitiesView: View {
///   @LiveDocuments(Document<City>.order(by: "title")) private var cities
///
///   var body: some View {
///     List(cities, id: \.id) { city in Text(city[\.title]) }
///   }
/// }
/// ```
///
/// `$cities` is the `LiveList`, with the last error and the data source.
@propertyWrapper
public struct LiveDocuments<T: Object & DataRepresentable>: DynamicProperty {
  @State private var list: LiveList<T>

  public init(_ query: DataSource<T>.Query) { _list = State(initialValue: LiveList(query)) }

  public var wrappedValue: [T] { list.documents }

  public var projectedValue: LiveList<T> { list }
}
#endif
