// Documents that live below another.

import FirebaseFirestore

/// Members that have their documents in this collection and nowhere else.
///
/// ```swift
/// class Room: Object { let messages: NestedCollection<Message> = [] }
/// ```
public final class NestedCollection<T: Document>: SubCollection<T> {}
