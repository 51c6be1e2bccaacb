// A collection that contains the documents of its members.

import FirebaseFirestore

/// A collection below the parent's document. It contains the documents of its members.
///
/// ```swift
/// class Room: Object { let messages: NestedCollection<Message> = [] }
/// ```
public final class NestedCollection<T: Document>: SubCollection<T> {}
