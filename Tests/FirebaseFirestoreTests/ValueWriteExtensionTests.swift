// Apps may have extensions that declare awaited writes of encoded values, because earlier versions did not
// have such methods.

import FirebaseFirestore
import Foundation
import Testing

/// An app's extension with argument labels equal to those of the API.
extension DocumentReference {
  fileprivate func setData<T: Encodable>(from value: T, merge: Bool = false) async throws {
    var fields = try Firestore.Encoder().encode(value)
    fields["byTheApp"] = true
    try await setData(fields, merge: merge)
  }
}

extension CollectionReference {
  @discardableResult
  fileprivate func addDocument<T: Encodable>(from value: T) async throws -> DocumentReference {
    let document = document()
    try await document.setData(from: value)
    return document
  }
}

@Suite struct ValueWriteExtensionTests {
  @Test func anOverloadDeclaredByTheAppIsPreferred() async throws {
    let firestore = Firestore.memory()
    let document = firestore.document("a/b")
    try await document.setData(from: ["n": 1])
    #expect(try await document.getDocument()["byTheApp"] as? Bool == true)
    try await document.delete()
    try await document.setData(from: ["n": 1], merge: true)
    #expect(try await document.getDocument()["byTheApp"] as? Bool == true)
    let added = try await document.parent.addDocument(from: ["n": 1])
    #expect(try await added.getDocument()["byTheApp"] as? Bool == true)
    try await firestore.terminate()
  }
}
