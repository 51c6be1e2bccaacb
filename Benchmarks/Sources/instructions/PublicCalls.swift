// Gets and writes through FirebaseFirestore, with structs and with dictionaries, and then through Ballcap.

import FirebaseFirestore
import Foundation
import InstructionCounts
import SampleDocuments

struct PublicCalls {
  private let stores: PreparedStores
  private let documents = PreparedStores.documents

  init(_ stores: PreparedStores) { self.stores = stores }

  func run() throws {
    // The database is not closed, because a close is asynchronous.
    let firestore = try Firestore.open(at: stores.readStore)
    try gets(firestore)
    try writes(firestore)
    try LayerCalls(stores).ballcap(firestore)
  }

  private func gets(_ firestore: Firestore) throws {
    let references = (0..<4000).map { index in
      firestore.document(SampleDocument(SampleDocument.parameter(index, below: documents)).path)
    }
    try countSecondRun(.readCodable, references.count) {
      try references.reduce(0) { try $0 &+ $1.read(as: SampleUser.self).visits }
    }
    try countSecondRun(.readDictionary, references.count) {
      try references.reduce(0) { try $0 &+ ($1.read().data()?.count ?? -1) }
    }
  }

  /// Counts the encoding of documents, which the caller of `setData` pays. The batches are never committed.
  private func writes(_ firestore: Firestore) throws {
    let numbers = 0..<2500
    let references = numbers.map { firestore.document(SampleDocument($0).path) }
    let dictionaries = numbers.map { SampleDocument($0).dictionary }
    let users = try references.map { try $0.read(as: SampleUser.self) }
    func set(_ numbers: Range<Int>, _ add: (WriteBatch, Int) throws -> Void) rethrows {
      let batch = firestore.batch()
      for number in numbers { try add(batch, number) }
    }
    let (warmUp, counted) = (0..<500, 500..<2500)

    func setDictionary(_ batch: WriteBatch, _ number: Int) {
      batch.setData(dictionaries[number], forDocument: references[number])
    }
    set(warmUp, setDictionary)
    try count(.setDictionary, counted.count) { set(counted, setDictionary) }

    func setUser(_ batch: WriteBatch, _ number: Int) throws {
      try batch.setData(from: users[number], forDocument: references[number])
    }
    try set(warmUp, setUser)
    try count(.setCodable, counted.count) { try set(counted, setUser) }
  }
}
