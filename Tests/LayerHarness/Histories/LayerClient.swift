// A client of a history. It performs steps through the objects of the layer, and also reads the final state
// through them.

import FirebaseFirestore
import Foundation
import Pring

package struct LayerFailure: Error, CustomStringConvertible {
  package var description: String

  package init(description: String) { self.description = description }
}

/// A client that must be used inside `LayerDatabase.$current.withValue`.
struct LayerClient {
  private var rooms: [LayerRoom]

  /// Creates a client and reads the rooms from the cache, which also works offline.
  init(_ firestore: Firestore) async throws {
    rooms = []
    for index in 0..<LayerModel.roomCount {
      let place = LayerRoom.reference.document("\(index)")
      let known = try? await place.getDocument(source: .cache)
      rooms.append(known.flatMap { LayerRoom(snapshot: $0) } ?? LayerRoom(id: "\(index)", value: [:]))
    }
  }

  static func makeRooms() async throws {
    for index in 0..<LayerModel.roomCount { try await LayerRoom(id: "\(index)").save() }
  }

  // MARK: Steps

  /// Performs a step. Returns false if the step has no effect.
  func perform(_ step: LayerStep) async throws -> Bool {
    switch step {
    case .like(let room):
      rooms[room].update(key: "likes", value: FieldValue.increment(Int64(1)))
      try await rooms[room].update()
    case .invite(let room, let id, let name):
      let person = LayerPerson(id: id)
      person.name = name
      rooms[room].guests.insert(person)
      try await rooms[room].update()
    case .dismiss(let room, let id, let hard):
      rooms[room].guests.remove(id, hard: hard)
      try await rooms[room].update()
    case .join(let room, let id): try await move(id, into: rooms[room], true)
    case .leave(let room, let id): try await move(id, into: rooms[room], false)
    case .note(let room, let id, let text):
      let note = LayerNote(id: id)
      note.text = text
      rooms[room].notes.insert(note)
      try await rooms[room].update()
    case .erase(let room, let id):
      rooms[room].notes.remove(id)
      try await rooms[room].update()
    case .shelve(let room, let id, let text):
      if rooms[room].shelf.keys.contains(id) {
        rooms[room].shelf[id].text = text
      } else {
        let entry = LayerNote(id: id)
        entry.text = text
        rooms[room].shelf.append(entry)
      }
      try await rooms[room].update()
    case .unshelve(let room, let id):
      guard rooms[room].shelf.keys.contains(id) else { return false }
      rooms[room].shelf.remove(rooms[room].shelf[id])
      try await rooms[room].update()
    case .tag(let room, let tag):
      rooms[room].tags = [tag]
      try await rooms[room].update()
    }
    return true
  }

  /// Changes the link between a member and a room, and the number of links of the room, in one transaction.
  private func move(_ id: String, into room: LayerRoom, _ isIn: Bool) async throws {
    let (place, link) = (room.reference, room.members.reference.document(id))
    _ = try await place.firestore.runTransaction { transaction, errorPointer -> Any? in
      do {
        let count = try transaction.getDocument(place).get("joined") as? Int ?? 0
        guard try transaction.getDocument(link).exists != isIn else { return nil }
        if isIn {
          transaction.setData(["createdAt": FieldValue.serverTimestamp()], forDocument: link)
        } else {
          transaction.deleteDocument(link)
        }
        transaction.updateData(["joined": count + (isIn ? 1 : -1)], forDocument: place)
      } catch let error as NSError {
        errorPointer?.pointee = error
      }
      return nil
    }
  }

  #if !DEBUG
  /// Saves an object that is already saved, which traps in debug builds. Returns a description of a wrong
  /// result, or nil.
  static func saveTwice() async throws -> String? {
    guard let room = try await LayerRoom.get("0") else { return "room 0 is gone" }
    room.likes += 1000
    let error = await callbackValue { heard in _ = room.save { _, error in heard(error) } }
    guard error is DocumentError else { return "a second save received \(String(describing: error))" }
    return try await LayerRoom.get("0")?.likes == room.likes ? "a second save has written" : nil
  }
  #endif

  // MARK: Reading

  /// Reads the whole state through objects. Throws if the counts do not match the links.
  static func read() async throws -> LayerModel {
    var model = LayerModel()
    for person in try await objects(LayerPerson.self, LayerPerson.reference) {
      model.people[person.id] = person.name
    }
    for index in model.rooms.indices {
      guard let room = try await LayerRoom.get("\(index)") else {
        throw LayerFailure(description: "room \(index) is gone")
      }
      let members = try await room.members.reference.getDocuments().documents.map(\.documentID)
      guard members.count == room.joined else {
        throw LayerFailure(
          description: "room \(index) counts \(room.joined) and has \(members.count) members")
      }
      model.rooms[index].likes = room.likes
      model.rooms[index].members = Set(members)
      model.rooms[index].guests = Set(
        try await room.guests.reference.getDocuments().documents.map(\.documentID))
      for note in try await objects(LayerNote.self, room.notes.reference) {
        model.rooms[index].notes[note.id] = note.text
      }
      for entry in room.shelf { model.rooms[index].shelf[entry.id] = entry.text }
      model.rooms[index].tags = room.tags
    }
    return model
  }

  private static func objects<Model: Object>(
    _ type: Model.Type, _ collection: CollectionReference
  ) async throws -> [Model] {
    try await collection.getDocuments().documents.compactMap { Model(snapshot: $0) }
  }
}
