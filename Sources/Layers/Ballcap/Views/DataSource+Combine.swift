// The changes of a data source for Combine.

#if canImport(Combine)
public import Combine
import FirebaseFirestore

extension DataSource {
  /// The changes that `onChanged` is told, from the subscription on, on the callback queue. The source has to
  /// listen, or to be asked for pages, for there to be any.
  public var publisher: AnyPublisher<Snapshot, Never> {
    Deferred { [self] in
      let told = PassthroughSubject<Snapshot, Never>()
      let id = ObjectIdentifier(told)
      observers[id] = { _, snapshot in told.send(snapshot) }
      return told.handleEvents(receiveCancel: { [weak self] in self?.observers[id] = nil })
    }
    .eraseToAnyPublisher()
  }
}
#endif
