// The changes of a data source as a Combine publisher.

#if canImport(Combine)
public import Combine
import FirebaseFirestore

extension DataSource {
  /// Publishes the changes that `onChanged` receives after the subscription. Publishes on the callback queue.
  /// Only a source that listens or reads pages has changes.
  public var publisher: AnyPublisher<Snapshot, Never> {
    Deferred { [self] in
      let subject = PassthroughSubject<Snapshot, Never>()
      let id = ObjectIdentifier(subject)
      observers[id] = { _, snapshot in subject.send(snapshot) }
      return subject.handleEvents(receiveCancel: { [weak self] in self?.observers[id] = nil })
    }
    .eraseToAnyPublisher()
  }
}
#endif
