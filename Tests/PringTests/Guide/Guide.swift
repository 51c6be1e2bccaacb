// The examples of docs/pring.md, verbatim; GuideTests runs them.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import Pring

class Person: Object {
  var name: String?
  var age = 0
  var isMember = false
  var tags: Set<String> = []
  var picture: File?
  let friends: ReferenceCollection<Person> = []
  let notes: NestedCollection<Note> = []
}

class Note: Object {
  var text = ""
  let author: Reference<Person> = .init()
}

func makeObjects() {
  let random = Person()
  let named = Person(id: "ada")
  let known = Person(id: "eve", value: ["name": "Eve", "age": 36])
  print(random.id, named.path, known.isSaved, known.name ?? "")  // … version/1/person/ada true Eve
}

class Player: Object {
  enum Rank: Int { case low, high }

  var rank = Rank.low
  var score = 0

  override func encode(_ key: String, value: Any?) -> Any? {
    key == "rank" ? rank.rawValue : nil
  }

  override func decode(_ key: String, value: Any?) -> Bool {
    guard key == "rank", let stored = value as? Int, let rank = Rank(rawValue: stored) else { return false }
    self.rank = rank
    return true
  }
}

class Draft: Object {
  var text = ""
  var isBeingEdited = false

  override var ignore: [String] { ["isBeingEdited"] }
}

func saveAndUpdate() async throws {
  let ada = Person(id: "ada")
  ada.name = "Ada"
  try await ada.save()

  ada.age += 1
  ada.tags.insert("pioneer")
  print(ada.updateValue)  // what update() is going to write
  try await ada.update()

  try await ada.delete()
}

func saveWithCompletion(_ person: Person, _ done: @escaping () -> Void) {
  person.save { reference, error in
    print(reference?.path ?? "", error as Any)
    person.name = "Eve"
    person.update { error in done() }
  }
}

class Beacon: Object {
  @Field var lastWord: String?
  @Field var strength: Int?
}

func repeatTheWord(_ beacon: Beacon) async throws {
  beacon.lastWord = beacon.lastWord
  try await beacon.update()
}

func saveTogether(_ first: Person, _ second: Player) async throws {
  try await Firestore.firestore().batch()
    .add(.save, object: first)
    .add(.update, object: second)
    .commit()
}

func deleteWithNotes(_ ada: Person, _ done: @escaping ((any Error)?) -> Void) {
  ada.notes.get { _, _ in
    Firestore.firestore().batch().deleteWithLoadedMembers(ada).commit { error in done(error) }
  }
}

func readAndListen(_ changed: @escaping (Person?) -> Void) async throws -> Disposer<Person> {
  Person.get("ada") { person, error in print(person?.name ?? "nobody", error as Any) }
  let eve = try await Person.get("eve")
  print(eve?.createdAt as Any)

  return Person.listen("ada") { person, error in changed(person) }
}

func writeNotes(_ ada: Person) async throws {
  let note = Note()
  note.text = "The engine weaves patterns."
  note.author.set(ada)
  ada.notes.insert(note)
  try await ada.update()

  let known = ada.notes.doc(note.id)
  known.text = "It weaves algebraic patterns."
  try await known.update()
}

func readNotes(_ ada: Person, _ done: @escaping ([Note]) -> Void) {
  ada.notes.get(ada.notes.order(by: \Note.createdAt).limit(to: 10)) { _, notes in done(notes) }
}

class Notebook: Object {
  let pages: SubCollection<Note> = []
}

func movePages(_ ids: [String], into notebook: Notebook) async throws {
  let batch = Firestore.firestore().batch()
  for id in ids {
    let old = Note.reference.document(id)
    guard let fields = try await old.getDocument().data() else { continue }
    batch.setData(fields, forDocument: notebook.pages.reference.document(id))
    batch.deleteDocument(old)
  }
  try await batch.commit()
}

func makeFriends(_ ada: Person, _ eve: Person) async throws {
  ada.friends.insert(eve)
  eve.friends.insert(ada)
  try await ada.update()

  ada.friends.remove(eve)
  try await ada.update()
}

func findAuthor(of note: Note, _ done: @escaping (Person?) -> Void) {
  note.author.get { person, error in done(person) }
}

class Line: Object {
  var article = ""
  var count = 1
}

class Order: Object {
  var address: Address?
  let lines: List<Line> = []

  class Address: Object {
    var city = ""
  }
}

func order(_ article: String, _ order: Order) async throws {
  let line = Line(id: article)
  line.article = article
  order.lines.append(line)
  order.address = order.address ?? Order.Address()
  order.address?.city = "London"
  try await order.update()

  order.lines[article].count += 1
  try await order.update()
}

func savePicture(_ picture: Data, of person: Person, _ done: @escaping ((any Error)?) -> Void) {
  person.picture = File(data: picture, name: "portrait.png", mimeType: .png)
  let tasks = person.update { error in done(error) }
  _ = tasks["picture"]?.observe(.progress) { snapshot in
    print(snapshot.progress?.fractionCompleted ?? 0)
  }
}

func loadPicture(of person: Person) async throws -> Data? {
  try await person.picture?.getData()
}

func removePicture(of person: Person) async throws {
  person.picture = File.delete()
  try await person.update()
}

func saveWithFriend(
  _ ada: Person, _ eve: Person, _ picture: Data, _ done: @escaping ((any Error)?) -> Void
) -> [String] {
  ada.picture = File(data: picture, mimeType: .png)
  eve.picture = File(data: picture, mimeType: .png)
  ada.friends.insert(eve)
  let tasks = ada.save { _, error in done(error) }
  return tasks.keys.sorted()  // friends.eve.picture, picture
}

func findAdults(_ done: @escaping ([String]) -> Void) -> DataSource<Person> {
  Person.where(\Person.age, isGreaterThanOrEqualTo: 18)
    .order(by: "age", descending: true)
    .limit(to: 30)
    .dataSource()
    .onCompleted { _, people in done(people.keys) }
    .get()
}

func findPlayers(_ rank: Player.Rank) -> DataSource<Player>.Query {
  Player.where(\Player.rank, isEqualTo: rank)
}

func watchFriends(of ada: Person, _ rows: @escaping (String) -> Void) -> DataSource<Person> {
  let options = Options()
  options.sortDescriptors = [NSSortDescriptor(keyPath: \Person.age, ascending: true)]
  options.filter = { ($0 as? Person)?.isMember == true }
  return ada.friends.query.dataSource(options: options)
    .on { _, change in
      switch change {
      case .initial: rows("reload")
      case .update(let change):
        rows("delete \(change.deletions) insert \(change.insertions) reload \(change.modifications)")
      case .error(let error): rows("\(error)")
      }
    }
    .listen()
}

final class PersonCell {
  private(set) var text = ""
  private var disposer: Disposer<Person>?

  func show(_ person: Person) {
    text = person.name ?? ""
    disposer = person.listen { [weak self] person, error in self?.text = person?.name ?? "" }
  }
}

func deleteRow(_ row: Int, of people: DataSource<Person>) {
  people.removeDocument(at: row) { id, error in print(id, error as Any) }
}

func watchNotes(of ada: Person, _ shown: @escaping ([String]) -> Void) -> DataSource<Note> {
  ada.notes.order(by: "createdAt").dataSource()
    .on(parse: { _, note, done in
      note.author.get { _, _ in done(note) }
    })
    .onCompleted { _, notes in shown(notes.map { "\($0.text) \($0.author.object?.name ?? "")" }) }
    .listen()
}

func readPages(_ source: DataSource<Person>, _ done: @escaping ([Person]) -> Void) {
  source.next { isLast in
    if isLast { done(source.documents) } else { readPages(source, done) }
  }
}

func befriend(_ ada: Person, _ eve: Person, _ done: @escaping (Int?, (any Error)?) -> Void) {
  Firestore.firestore().runTransaction({ transaction, errorPointer in
    do {
      let count = try transaction.getDocument(ada.reference).get("friendCount") as? Int ?? 0
      let link = ada.friends.reference.document(eve.id)
      guard try !transaction.getDocument(link).exists else { return count }
      transaction.setData(["createdAt": FieldValue.serverTimestamp()], forDocument: link)
      transaction.updateData(["friendCount": count + 1], forDocument: ada.reference)
      return count + 1
    } catch let error as NSError {
      errorPointer?.pointee = error
      return nil
    }
  }) { count, error in done(count as? Int, error) }
}

class Article: Object {
  var title = "" {
    didSet { words = Set(Article.words(in: title)) }
  }
  var words: Set<String> = []

  static func words(in text: String) -> [String] {
    text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
  }
}

func findByWords(_ text: String) -> DataSource<Article>.Query {
  Article.words(in: text).reduce(Article.query) { $0.where("words.\($1)", isEqualTo: true) }
}

func findByPrefix(_ text: String) -> DataSource<Article>.Query {
  Article.order(by: \Article.title).start(at: [text]).end(before: [text + "\u{f8ff}"])
}

func copyToTeam(_ team: String, _ person: Person) async throws -> Person? {
  let place = Firestore.firestore().document("teams/\(team)/people/\(person.id)")
  let copy = Person()
  copy.name = person.name
  copy.setReference(place)
  try await copy.save()
  return Person(snapshot: try await place.getDocument())
}

#if canImport(ObjectiveC)
@objcMembers
#endif
class Visitor: Object {
  dynamic var name: String?
  dynamic var visits = 0
}
