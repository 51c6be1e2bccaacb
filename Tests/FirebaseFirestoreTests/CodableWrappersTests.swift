// Tests of `@DocumentID`, `@ServerTimestamp` and `@ExplicitNull`.

import DocumentStore
import FirebaseCore
import FirebaseFirestore
import Synchronization
import Testing

private struct Book: Codable, Hashable {
  @DocumentID var id: String?
  var title: String
}

private struct Linked: Codable {
  @DocumentID var reference: DocumentReference?
}

private struct Message: Codable, Equatable {
  @ServerTimestamp var date: Date?
  @ServerTimestamp var timestamp: Timestamp?
}

private struct Note: Codable, Equatable {
  @ExplicitNull var text: String?
  @ExplicitNull var due: Date?
}

@Suite struct CodableWrappersTests {
  private let encoder = Firestore.Encoder()
  private let decoder = Firestore.Decoder()

  // MARK: DocumentID

  @Test func documentIDIsFilledFromTheReference() throws {
    #expect(try decoder.decode(Book.self, from: ["title": "t"], in: Database.room).id == "eros")
    let empty: [String: Any] = [:]
    #expect(try decoder.decode(Linked.self, from: empty, in: Database.room).reference === Database.room)
    let fields = StoredMap([("title", .string("t"))])
    #expect(try decoder.decodeFields(Book.self, from: fields, reference: Database.room).id == "eros")
  }

  @Test func documentIDIgnoresAFieldWithTheSameName() throws {
    var wrong: [String] = []
    for field in ["other", 5, NSNull(), ["a": 1]] as [Any] {
      let book = try decoder.decode(Book.self, from: ["title": "t", "id": field], in: Database.room)
      if book.id != "eros" { wrong.append("\(field): \(String(describing: book.id))") }
    }
    #expect(wrong == [])
  }

  @Test func documentIDIsFilledInNestedModels() throws {
    let read = try decoder.decode(
      Box<[Book]>.self, from: ["value": [["title": "a"], ["title": "b"]]], in: Database.room)
    #expect(read.value.map(\.id) == ["eros", "eros"])
  }

  @Test func documentIDIsNeverWritten() throws {
    var book = Book(title: "t")
    #expect(try encoder.encode(book).keys.sorted() == ["title"])
    book.id = "x"
    #expect(book.id == "x")
    #expect(try encoder.encodeFields(book).fields == StoredMap([("title", .string("t"))]))
    #expect(try encoder.encode(Linked(reference: Database.room)).isEmpty)
  }

  @Test func decodingADocumentIDRequiresADocument() {
    func isUnsupported(_ body: () throws -> Void) -> Bool {
      do {
        try body()
        return false
      } catch FirestoreDecodingError.decodingIsNotSupported {
        return true
      } catch FirestoreEncodingError.encodingIsNotSupported {
        return true
      } catch {
        return false
      }
    }
    #expect(isUnsupported { _ = try decoder.decode(Book.self, from: ["title": "t"]) })
    #expect(isUnsupported { _ = try decoder.decode(Book.self, from: ["title": "t", "id": "x"]) })
    #expect(
      isUnsupported { _ = try JSONDecoder().decode(Book.self, from: Data(#"{"id":"x","title":""}"#.utf8)) })
    #expect(isUnsupported { _ = try JSONEncoder().encode(Book(title: "t")) })
  }

  @Test func documentIDWarnsWhenInitializedButNotWhenAssigned() {
    let warnings = Mutex<[String]>([])
    CodingLog.$sink.withValue(CodingLog.Sink { code, _ in warnings.withLock { $0.append(code) } }) {
      var book = Book(title: "t")
      book.id = "assigned"
      #expect(warnings.withLock { $0 } == [])
      book = Book(id: "given", title: "t")
      #expect(warnings.withLock { $0 } == ["I-FST000002"])
      #expect(book.id == "given")
      _ = try? decoder.decode(Book.self, from: ["title": "t"], in: Database.room)
      #expect(warnings.withLock { $0.count } == 1)
    }
  }

  @Test func documentIDIsComparedAndHashedByValue() throws {
    let one = try decoder.decode(Book.self, from: ["title": "t"], in: Database.room)
    let same = try decoder.decode(Book.self, from: ["title": "t"], in: Database.room)
    let other = try decoder.decode(Book.self, from: ["title": "t"], in: Database.firestore.document("a/b"))
    #expect(one == same && Set([one, same]).count == 1)
    #expect(one != other)
  }

  // MARK: ServerTimestamp

  @Test func aNilServerTimestampIsSetByTheCommit() throws {
    let encoded = try encoder.encode(Message())
    #expect(encoded["date"] as? FieldValue == FieldValue.serverTimestamp())
    #expect(encoded["timestamp"] as? FieldValue == FieldValue.serverTimestamp())
    let fields = try encoder.encodeFields(Message())
    #expect(fields.fields.isEmpty)
    #expect(fields.sentinels.map(\.path) == [["date"], ["timestamp"]])
  }

  @Test func givenServerTimestampIsWrittenAsATimestamp() throws {
    let time = Timestamp(seconds: 5, nanoseconds: 1000)
    let message = Message(date: time.dateValue(), timestamp: time)
    encoder.dateEncodingStrategy = .iso8601
    let encoded = try encoder.encode(message)
    #expect(encoded["date"] as? Timestamp == Timestamp(date: time.dateValue()))
    #expect(encoded["timestamp"] as? Timestamp == time)
    decoder.dateDecodingStrategy = .iso8601
    #expect(try decoder.decode(Message.self, from: encoded) == message)
  }

  @Test func nullServerTimestampIsNilAndAMissingOneIsAnError() throws {
    let null = ["date": NSNull(), "timestamp": NSNull()]
    #expect(try decoder.decode(Message.self, from: null) == Message())
    #expect(
      decodingFailure { _ = try decoder.decode(Message.self, from: ["date": NSNull()]) } == "keyNotFound at ")
    #expect(
      decodingFailure { _ = try decoder.decode(Message.self, from: ["date": 1]) } == "typeMismatch at date")
  }

  @Test func otherCodersEncodeServerTimestampLikeATimestamp() throws {
    let time = Timestamp(seconds: 5, nanoseconds: 6)
    let data = try JSONEncoder().encode(Box(value: ServerTimestamp(wrappedValue: time)))
    let value = try JSONDecoder().decode(Box<ServerTimestamp<Timestamp>>.self, from: data).value
    #expect(value.wrappedValue == time)
    #expect(throws: FirestoreEncodingError.self) { try JSONEncoder().encode(Message()) }
  }

  // MARK: ExplicitNull

  @Test func explicitNullWritesNull() throws {
    let encoded = try encoder.encode(Note())
    #expect(encoded["text"] is NSNull && encoded["due"] is NSNull)
    #expect(try encoder.encodeFields(Note()).fields == StoredMap([("text", .null), ("due", .null)]))
  }

  @Test func explicitNullReadsNullAndValues() throws {
    #expect(try decoder.decode(Note.self, from: ["text": NSNull(), "due": NSNull()]) == Note())
    let note = Note(text: "x", due: Date(timeIntervalSince1970: 5))
    let encoded = try encoder.encode(note)
    #expect(encoded["due"] as? Timestamp == Timestamp(seconds: 5, nanoseconds: 0))
    #expect(try decoder.decode(Note.self, from: encoded) == note)
    #expect(
      decodingFailure { _ = try decoder.decode(Note.self, from: ["due": NSNull()]) } == "keyNotFound at ")
  }

  @Test func explicitNullWorksWithOtherCoders() throws {
    let data = try JSONEncoder().encode(Note(text: nil, due: nil))
    #expect(try JSONDecoder().decode(Note.self, from: data) == Note())
  }
}
