// The four ways in which existing code inspects errors.

import FirebaseFirestore
import Foundation
import Testing

@Suite struct FirestoreErrorCodeTests {
  private static func fail(_ domain: String = FirestoreErrorDomain, _ code: Int = 14) throws {
    throw NSError(domain: domain, code: code, userInfo: [NSLocalizedDescriptionKey: "away"])
  }

  @Test func anErrorIsCaughtByItsCode() {
    do { try Self.fail() } catch FirestoreErrorCode.unavailable {} catch { Issue.record("\(error)") }
    do { try Self.fail() } catch FirestoreErrorCode.notFound { Issue.record("another code") } catch {}
    do { try Self.fail("another") } catch FirestoreErrorCode.unavailable { Issue.record("foreign") } catch {}
  }

  @Test func anErrorIsDistinguishedInASwitch() {
    do { try Self.fail() } catch {
      switch error {
      case FirestoreErrorCode.notFound: Issue.record("another code")
      case FirestoreErrorCode.unavailable: break
      default: Issue.record("no case fits")
      }
    }
  }

  @Test func anErrorNumberConvertsToACode() {
    do { try Self.fail() } catch {
      #expect(FirestoreErrorCode.Code(rawValue: (error as NSError).code) == .unavailable)
      #expect((error as NSError).code == FirestoreErrorCode.unavailable.rawValue)
    }
  }

  @Test func anErrorIsCastToACode() throws {
    do { try Self.fail() } catch {
      let cast = try #require(error as? FirestoreErrorCode)
      #expect(cast.code == .unavailable)
      #expect(cast.localizedDescription == "away")
    }
    do { try Self.fail("another") } catch { #expect(error as? FirestoreErrorCode == nil) }
    do { try Self.fail(FirestoreErrorDomain, 99) } catch { #expect(error as? FirestoreErrorCode == nil) }
    do { try Self.fail() } catch let error as FirestoreErrorCode { #expect(error.code == .unavailable) }
  }

  @Test func thrownErrorsAreNSErrors() async throws {
    let database = try TestDatabase()
    do {
      try await database.firestore.document("a/__b__").setData(["n": 1])
      Issue.record("nothing was thrown")
    } catch {
      #expect(type(of: error) == NSError.self)
      #expect((error as? FirestoreErrorCode)?.code == .invalidArgument)
    }
    await database.close()
  }

  @Test func aThrownCodeKeepsItsDomainAndUserInfo() {
    do { throw FirestoreErrorCode(.aborted, userInfo: ["key": 1]) } catch {
      if case FirestoreErrorCode.aborted = error {} else { Issue.record("\(error)") }
      #expect((error as NSError).domain == FirestoreErrorDomain)
      #expect((error as NSError).userInfo["key"] as? Int == 1)
    }
  }

  @Test func codesHaveTheSameNumbersAsInFirestore() {
    #expect((0...16).allSatisfy { FirestoreErrorCode.Code(rawValue: $0) != nil })
    #expect(FirestoreErrorCode.OK.rawValue == 0)
    #expect(FirestoreErrorCode.Code.unauthenticated.rawValue == 16)
  }
}
