// The examples of docs/ballcap.md, verbatim; GuideTests runs them.

import Ballcap
import FirebaseFirestore
import FirebaseStorage
import Foundation
import Observation

struct City: Codable, Modelable {
  static var name: String { "cities" }

  var title = ""
  var people = 0
  var founded: Date?
}

func makeDocuments() throws {
  let random: Document<City> = Document()
  let named = Document<City>(id: "tokyo")
  let known = Document<City>(id: "bern", from: City(title: "Bern", people: 134_000))
  let elsewhere = Document<City>(id: "x", collectionReference: Firestore.firestore().collection("drafts"))
  let decoded = Document<City>(id: "basel", from: ["title": "Basel", "people": 175_000])
  print(random.id, named.path, known.data?.title ?? "", elsewhere.path, decoded?[\.people] ?? 0)
}

func chooseTheRoot() {
  BallcapApp.configure(Firestore.firestore().document("version/1"))
  print(Document<City>(id: "tokyo").path)  // version/1/cities/tokyo
  BallcapApp.configure()
}

func saveAndRead() async throws {
  let tokyo = Document<City>(id: "tokyo", from: City(title: "Tokyo", people: 14_000_000))
  try await tokyo.save()

  tokyo[\.people] += 1
  try await tokyo.update()
  try await tokyo.merge(data: ["twinned": ["Berlin", "Beijing"]])

  let found = try await Document<City>.get(id: "tokyo")
  print(found?.data?.people ?? 0, found?.createdAt as Any)

  try await tokyo.delete()
}

func saveWithCompletion(_ city: Document<City>, _ done: @escaping () -> Void) {
  city.save { error in
    if let error {
      print("not saved: \(error)")
      return done()
    }
    Document<City>.get(id: city.id) { city, error in
      if let error { print("not read: \(error)") } else { print(city?.data?.title ?? "no such city") }
      done()
    }
  }
}

func refresh(_ city: Document<City>, _ done: @escaping (City?, (any Error)?) -> Void) async throws {
  try await city.get(.serverOnly)
  city.get { fresh, error in done(fresh?.data, error) }
}

func listenUntil(_ bag: DisposeBag, _ changed: @escaping (City?) -> Void) {
  Document<City>.listen(id: "tokyo") { city, error in changed(city?.data) }.disposed(by: bag)
}

func followUntilDeleted(_ id: String, _ show: (Int) -> Void) async throws {
  for try await city in Document<City>.updates(id: id) {
    guard let city else { break }
    show(city[\.people])
  }
}

func move(_ people: Int, from old: Document<City>, to new: Document<City>) async throws {
  old[\.people] -= people
  new[\.people] += people
  let archive = Firestore.firestore().collection("archive")
  try await Batch()
    .update(old)
    .save(new)
    .save(old, to: archive)
    .set(["moved": people], reference: archive.document("statistics"))
    .commit()
}

func showAtOnce(_ id: String) -> String {
  Document<City>(id: id).cache?.title ?? "…"
}

struct Tally: Codable, Modelable {
  var hits: IncrementableInt = 0
  var weight: IncrementableDouble = 0.0
  var visitors: OperableArray<String> = []
  var seen: ServerTimestamp = .pending
}

func visit(_ counter: Document<Tally>, _ name: String) async throws {
  counter.data?.hits = .increment(1)
  counter.data?.weight = .increment(0.5)
  counter.data?.visitors = .arrayUnion([name])
  counter.data?.seen = .pending
  try await counter.update()
  try await counter.get()
  print(counter[\.hits].rawValue, counter[\.visitors].first ?? "")
}

struct Profile: Codable, Modelable {
  var name = ""
  var avatar: File?
}

func upload(_ picture: Data, for profile: Document<Profile>) async throws {
  let avatar = File(profile, name: "avatar", data: picture, mimeType: .png, metadata: ["by": "ada"])
  try await avatar.save()
  profile[\.avatar] = avatar
  try await profile.save()
}

func uploadWithProgress(_ file: File, _ ended: @escaping ((any Error)?) -> Void) {
  let task = file.save { metadata, error in ended(error) }
  _ = task?.observe(.progress) { snapshot in print(snapshot.progress?.fractionCompleted ?? 0) }
}

func download(_ file: File) async throws -> Data {
  try await file.getData()
}

func downloadAgain(_ file: File) async throws -> Data {
  try await file.reload()
}

final class PictureCell: FileRepresentable {
  var file: File

  init(_ file: File) { self.file = file }

  func show() async throws -> Int {
    try await load().data?.count ?? 0
  }
}

func replace(_ old: [File], by new: [File]) async throws {
  try await StorageBatch().save(new).delete(old).commit()
}

final class Room: Object, DataRepresentable, DataListenable, DataCacheable, HierarchicalStructurable {
  struct Model: Codable, Modelable {
    var title = ""
    var opened: ServerTimestamp = .pending
  }

  enum CollectionKeys: String { case transcripts }

  override class var name: String { "rooms" }

  var data: Room.Model?
  var listener: (any ListenerRegistration)?
}

func openRoom() async throws {
  let room = Room(id: "lobby")
  room[\.title] = "Lobby"
  try await room.save()
  let same: Room = room.listen()
  print(same === room, room.cache?.title ?? "")
  room.listener?.remove()
}

struct Transcript: Codable, Modelable {
  var from = ""
  var text = ""
}

func say(_ text: String, in room: Room) async throws {
  let transcript: Document<Transcript> = room.collection(path: .transcripts)
    .child(id: UUID().uuidString, type: Document<Transcript>.self)
  transcript.data = Transcript(from: "ada", text: text)
  try await Batch().save(transcript).update(room).commit()

  let all: DataSource<Document<Transcript>>.Query = room.collection(path: .transcripts)
  print(try await all.order(by: "createdAt").query.getDocuments().count)
}

func watchCities(_ changed: @escaping ([String]) -> Void) -> DataSource<Document<City>> {
  Document<City>.where("people", isGreaterThan: 100_000).order(by: "people", descending: true)
    .dataSource()
    .onChanged { _, snapshot in changed(snapshot.after.keys) }
    .onError { _, error in print(error) }
    .listen()
}

func pickCities(_ changed: @escaping ([String]) -> Void) -> DataSource<Document<City>> {
  let picked: DataSource<Document<City>> = [Document(id: "tokyo"), Document(id: "bern")]
  picked.sorted { $0.id < $1.id }.onChanged { _, snapshot in changed(snapshot.after.keys) }
  picked.add(document: Document(id: "basel"))
  picked.remove(document: Document(id: "tokyo"))
  return picked
}

func show(_ rows: inout [String], _ snapshot: DataSource<Document<City>>.Snapshot) {
  for change in snapshot.difference {
    switch change {
    case .remove(let index, _, _): rows.remove(at: index)
    case .insert(let index, let city, _): rows.insert(city[\.title], at: index)
    }
  }
}

func countUntil(_ limit: Int) async throws -> Int {
  let cities = Document<City>.query.dataSource()
  for try await change in cities.changes where change.after.count >= limit { break }
  return cities.count
}

func favourites(_ changed: @escaping ([String]) -> Void) -> DataSource<Document<City>> {
  DataSource<Document<City>>.Query(Firestore.firestore().collection("favourites"))
    .dataSource()
    .retrieve { _, document, done in
      Document<City>.get(id: document.documentID) { city, _ in done(city) }
    }
    .onChanged { _, snapshot in changed(snapshot.after.map { $0[\.title] }) }
    .listen()
}

func evenCities(_ changed: @escaping ([String]) -> Void) -> any ListenerRegistration {
  let isEven = NSPredicate { fields, _ in ((fields as? [String: Any])?["people"] as? Int ?? 1) % 2 == 0 }
  return Document<City>.order(by: "people").filter(using: isEven).listen { snapshot, _ in
    changed(snapshot?.documents.map(\.documentID) ?? [])
  }
}

func largeOrNamed(_ title: String) async throws -> [String] {
  let filter = Filter.orFilter([
    Filter.whereField("people", isGreaterThan: 250_000), Filter.whereField("title", isEqualTo: title),
  ])
  return try await Document<City>.filter(filter).get().documents.map(\.documentID)
}

func readAll() async throws -> [String] {
  let cities = Document<City>.order(by: "title").limit(to: 10).dataSource()
  try await cities.get()
  while cities.hasMore { try await cities.next() }
  return cities.map(\.id)
}

func watchTheFirst(_ changed: @escaping ([String]) -> Void) -> DataSource<Document<City>> {
  Document<City>.order(by: "title").limit(to: 2).dataSource()
    .onChanged { _, snapshot in changed(snapshot.after.keys) }
    .listen()
}

func showMore(of cities: DataSource<Document<City>>) {
  cities.next { isEmpty in
    if isEmpty { print("That is all.") }
  }
}

@Observable
final class Shop: Object, DataRepresentable, DataListenable, Identifiable {
  typealias ID = String

  struct Model: Codable, Modelable { var title = "" }

  override class var name: String { "shops" }

  var data: Shop.Model?
  @ObservationIgnored var listener: (any ListenerRegistration)?
}

func titleChanges(of shop: Shop, _ changed: @escaping @Sendable () -> Void) {
  withObservationTracking {
    _ = shop[\.title]
  } onChange: {
    changed()
  }
}

#if canImport(SwiftUI)
import SwiftUI

struct ShopView: View {
  @State private var shop = Shop(id: "corner")

  var body: some View {
    Text(shop[\.title]).onAppear { let _: Shop = shop.listen() }
  }
}
#endif

func shopTitles(_ changed: @escaping @Sendable () -> Void) -> LiveList<Shop> {
  let shops = LiveList(Shop.query.order(by: "title"))
  withObservationTracking {
    print(shops.documents.map { $0[\.title] })
  } onChange: {
    changed()
  }
  return shops
}

#if canImport(SwiftUI)
struct ShopsView: View {
  @LiveDocuments(Shop.query.order(by: "title")) private var shops

  var body: some View {
    List(shops, id: \.id) { shop in Text(shop[\.title]) }
  }
}
#endif

struct Person: Codable, Modelable {
  static var name: String { "person" }

  var name: String?
  var age: Int?
}

func readWhatPringWrote() async throws -> Person? {
  BallcapApp.configure(Firestore.firestore().document("version/1"))
  defer { BallcapApp.configure() }
  return try await Document<Person>.get(id: "ada")?.data
}
