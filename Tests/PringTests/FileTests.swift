// Tests of files that are saved with their documents.

import FirebaseFirestore
import FirebaseStorage
import Foundation
import LayerHarness
import Testing

@testable import Pring

extension PringTests {
  @Suite final class Files {
    private let app = TestApp()
    private let text = Data("hello".utf8)

    private func file(_ name: String, _ text: String = "hello") -> File {
      File(data: Data(text.utf8), name: name, mimeType: .plain)
    }

    @Test(arguments: [
      (File.MIMEType.plain, "text/plain", "txt"), (.csv, "text/csv", "csv"), (.html, "text/html", "html"),
      (.css, "text/css", "css"), (.javascript, "text/javascript", "js"), (.pdf, "application/pdf", "pdf"),
      (.zip, "application/zip", "zip"), (.tar, "application/x-tar", "tar"),
      (.lzh, "application/x-lzh", "lzh"), (.jpeg, "image/jpeg", "jpg"), (.pjpeg, "image/pjpeg", "jpg"),
      (.png, "image/png", "png"), (.gif, "image/gif", "gif"), (.mp4, "video/mp4", "mp4"),
      (.octetStream("bin"), "application/octet-stream", "bin"), (.custom("a/b", "c"), "a/b", "c"),
    ]) func everyMIMETypeHasItsTextAndExtension(type: File.MIMEType, value: String, ext: String) {
      #expect(type.rawValue == value && type.fileExtension == ext)
      #expect(File.MIMEType(rawValue: value, ext: ext)?.rawValue == value)
    }

    @Test func fileNamesGetTheirExtension() {
      #expect(file("a").name == "a.txt" && file("a.csv").name == "a.csv" && file(".x").name == ".x.txt")
      #expect(File(data: text).name != File(data: text).name)
      #expect(File(url: URL(fileURLWithPath: "/a"), name: "b", mimeType: .octetStream("")).name == "b")
    }

    @Test func filesAreSavedWithTheirDocument() async throws {
      let member = Member(id: "m")
      member.picture = file("picture")
      member.picture?.additionalData = ["width": 10, "tags": ["a"], "none": NSNull()]
      let tasks = CallbackValues<[String]>()
      let error = await callbackValue { heard in
        tasks.add(member.save { _, error in heard(error) }.keys.sorted())
      }
      #expect(error == nil)
      #expect(await tasks.next() == ["picture"])
      #expect(member.picture?.isSaved == true && member.updateValue.isEmpty)
      #expect(await bytes("version/1/members/m/picture/picture.txt") == text)
      let found = try #require(try await Member.get("m")?.picture)
      #expect(found.name == "picture.txt" && found.isSaved && !found.shouldBeSaved)
      #expect(found.mimeType?.rawValue == "text/plain" && found.downloadURL == member.picture?.downloadURL)
      #expect(found.additionalData?["width"] as? Int == 10 && found.additionalData?["none"] is NSNull)
    }

    @Test func fileDataIsLoadedFromItsStorageReference() async throws {
      let member = Member(id: "m")
      member.picture = file("picture")
      try await member.save()
      let found = try #require(try await Member.get("m"))
      let picture = try #require(found.picture)
      #expect(picture.ref?.fullPath == "version/1/members/m/picture/picture.txt" && picture.data == nil)
      #expect(try await picture.getData() == text)
      #expect(picture.data == text)
      let (data, error) = await callbackValue { heard in _ = File(name: "alone").getData { heard(($0, $1)) } }
      #expect(data == nil && error is DocumentError)
    }

    @Test func aReplacedFileIsDeleted() async throws {
      let member = Member(id: "m")
      member.picture = file("old")
      try await member.save()
      member.picture = file("new", "new")
      try await member.update()
      #expect(await bytes("version/1/members/m/picture/old.txt") == nil)
      #expect(await bytes("version/1/members/m/picture/new.txt") == Data("new".utf8))
      // A file with the same name replaces the old bytes.
      member.picture = file("new", "newer")
      try await member.update()
      #expect(await bytes("version/1/members/m/picture/new.txt") == Data("newer".utf8))
    }

    /// The bug: the file of the failed update was treated as the stored one.
    @Test func afterAFailedUpdateTheNextUpdateDeletesTheReplacedFile() async throws {
      let member = Member(id: "m")
      member.picture = file("old")
      try await member.save()
      member.picture = file("new", "new")
      #expect(await callbackValue { heard in _ = member.saveFiles("m") { heard($0 == nil) } })
      let failing = member.reference.firestore.batch()
      member.pack(.update, batch: failing)
      failing.updateData(["x": 1], forDocument: Member.reference.document("missing"))
      member.age = 1
      let second = member.reference.firestore.batch()
      member.pack(.update, batch: second)
      await #expect(throws: (any Error).self) { try await failing.commit() }
      try await second.commit()
      #expect(await bytes("version/1/members/m/picture/old.txt") == text)
      try await member.update()
      #expect(await bytes("version/1/members/m/picture/old.txt") == nil)
      #expect(await bytes("version/1/members/m/picture/new.txt") == Data("new".utf8))
      #expect(try await Member.get("m")?.picture?.name == "new.txt")
    }

    @Test func anUpdateDeletesAFileMarkedForDeletion() async throws {
      let member = Member(id: "m")
      member.picture = file("a")
      try await member.save()
      let found = try #require(try await Member.get("m"))
      found.picture = File.delete()
      #expect(found.updateValue["picture"] is FieldValue)
      try await found.update()
      #expect(found.picture == nil)
      #expect(try await fields(found)?["picture"] == nil)
      #expect(await bytes("version/1/members/m/picture/a.txt") == nil)
    }

    @Test func filesOfAnArrayAreUploadedAndDeleted() async throws {
      let room = Room(id: "r")
      room.pages = [file("a"), file("b")]
      let tasks = CallbackValues<[String]>()
      _ = await callbackValue { heard in
        tasks.add(room.save { _, error in heard(error == nil) }.keys.sorted())
      }
      #expect(await tasks.next() == ["pages.0", "pages.1"])
      let found = try #require(try await Room.get("r"))
      #expect(found.pages.map(\.name) == ["a.txt", "b.txt"])
      found.pages.remove(at: 0)
      found.pages.append(file("c"))
      try await found.update()
      #expect(await bytes("version/1/room/r/pages/a.txt") == nil)
      #expect(await bytes("version/1/room/r/pages/c.txt") == text)
      found.pages[0].isDeleted = true
      try await found.update()
      #expect(found.pages.map(\.name) == ["c.txt"])
      #expect(try await Room.get("r")?.pages.count == 1)
      #expect(await bytes("version/1/room/r/pages/b.txt") == nil)
    }

    @Test func filesOfNestedObjectsAreReadBack() async throws {
      let shop = Shop(id: "s")
      shop.home.plan = file("plan")
      shop.branch = Address()
      shop.branch?.plan = file("branch")
      try await shop.save()
      let found = try #require(try await Shop.get("s"))
      #expect(try await found.home.plan?.getData() == text)
      #expect(found.branch?.plan?.ref?.fullPath == "version/1/shop/s/branch/plan/branch.txt")
      found.home.plan = file("other")
      try await found.update()
      #expect(await bytes("version/1/shop/s/home/plan/plan.txt") == nil)
    }

    @Test func deletingAnObjectDeletesItsFiles() async throws {
      let member = Member(id: "m")
      member.picture = file("a")
      try await member.save()
      try await member.delete()
      #expect(await bytes("version/1/members/m/picture/a.txt") == nil)
      #expect(try await fields(member) == nil)
    }

    @Test func aFailedUploadIsAnErrorAndNothingIsWritten() async throws {
      let member = Member(id: "m")
      member.picture = File(name: "empty")
      let (reference, error) = await callbackValue { heard in member.save { heard(($0, $1)) } }
      #expect(reference == member.reference && error is DocumentError && !member.isSaved)
      #expect(try await fields(member) == nil)
    }

    @Test func uploadsAreCancelledAtTheTimeout() async throws {
      let member = Member(id: "m")
      member.picture = File(data: Data(count: 64 << 20), name: "large")
      let container = UploadContainer()
      container.timeout = 0
      member.pringCollectFiles(into: container, "")
      let error = await callbackValue { heard in
        _ = container.begin(on: Firestore.firestore().settings.dispatchQueue) { heard($0) }
      }
      #expect((error as? DocumentError)?.kind == .timeout)
    }

    @Test func theNextUpdateRecordsADirectFileDeletion() async throws {
      let member = Member(id: "m")
      member.picture = file("a")
      try await member.save()
      let picture = try #require(member.picture)
      #expect(await callbackValue { heard in picture.delete { heard($0 == nil) } })
      #expect(member.updateValue["picture"] is FieldValue)
      try await member.update()
      #expect(member.picture == nil)
      #expect(await callbackValue { heard in picture.delete { heard($0 is StorageError) } })
    }

    @Test func aLocalFileIsUploadedUnchanged() async throws {
      let local = app.folder.appendingPathComponent("local.txt")
      try FileManager.default.createDirectory(at: app.folder, withIntermediateDirectories: true)
      try text.write(to: local)
      let member = Member(id: "m")
      member.picture = File(url: local, name: "copy.txt")
      try await member.save()
      #expect(await bytes("version/1/members/m/picture/copy.txt") == text)
    }
  }
}
