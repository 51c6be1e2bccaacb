// Runs the small apps, which must behave as they do with the original Pring.

import FirebaseFirestore
import Foundation
import LayerHarness
import Pring
import Testing

extension PringTests {
  @Suite(.timeLimit(.minutes(1))) final class OldApp {
    private let app = TestApp()

    private func kitchen() async throws -> KitchenController {
      let cook = Cook(id: "julia")
      cook.name = "Julia"
      let kitchen = KitchenController(cook: cook)
      let recipes: [(String, Recipe.Course)] = [("soup", .starter), ("stew", .main), ("cake", .dessert)]
      var wrong: [String] = []
      for (title, course) in recipes {
        let error = await callbackValue { heard in
          kitchen.add(title: title, course: course, texts: ["first", "second"]) { heard($0) }
        }
        if error != nil { wrong.append("\(title): \(String(describing: error))") }
      }
      #expect(wrong == [])
      return kitchen
    }

    @Test func recipesAreShownWithTheirAuthors() async throws {
      let kitchen = try await kitchen()
      let shown = await callbackValue { heard in kitchen.showRecipes { heard($0) } }
      #expect(shown.sorted() == ["cake by Julia", "soup by Julia", "stew by Julia"])
    }

    @Test func stepsOfARecipeAreShownAndRemoved() async throws {
      let kitchen = try await kitchen()
      let soup = try #require(try await Recipe.get("soup"))
      #expect(
        await callbackValue { heard in kitchen.showSteps(of: soup) { heard($0) } } == ["first", "second"])
      #expect(await callbackValue { heard in kitchen.removeLastStep(of: soup) { heard($0 == nil) } })
      #expect(await callbackValue { heard in kitchen.showSteps(of: soup) { heard($0) } } == ["first"])
    }

    @Test func recipesOfACourseAreFound() async throws {
      let kitchen = try await kitchen()
      #expect(await callbackValue { heard in kitchen.showTitles(of: .dessert) { heard($0) } } == ["cake"])
    }

    @Test func deletingRecipesKeepsTheirStepsAndAuthor() async throws {
      let kitchen = try await kitchen()
      let recipes = Array(kitchen.cook.recipes)
      #expect(recipes.count == 3)
      #expect(await callbackValue { heard in kitchen.delete(recipes) { heard($0 == nil) } })
      #expect(try await Recipe.reference.getDocuments().isEmpty)
      var counts: [Int] = []
      for recipe in recipes { counts.append(try await recipe.steps.reference.getDocuments().count) }
      #expect(counts == [2, 2, 2])
      #expect(try await Cook.get("julia") != nil)
    }

    /// The bug: under `@testable`, the compiler rejected a property of a model, or the property overrode an
    /// internal member of the layer.
    @Test func propertiesMayHaveTheLayersInternalNames() async throws {
      let table = Timetable(id: "t")
      table.files = [File(data: Data("plan".utf8), name: "plan.txt")]
      let entry = Entry(id: "e")
      entry.text = "maths"
      table.entries.insert(entry)
      try await table.save()
      let found = try #require(try await Timetable.get("t"))
      let plain = [
        "schema", "times", "tracking", "activeProperties", "files", "savedFiles", "storedFiles", "noteFiles",
        "place", "read", "notes", "flights", "stored", "encoded", "unwrapped", "children", "remembered",
        "owed",
        "members", "pending", "lastPlace", "field", "refusal", "packing", "companion",
      ]
      #expect(Set(found.rawValue.keys) == Set(plain) && found.remembered == 7)
      #expect(found.files.first?.isSaved == true && found.times == ["9:00"])
      found.times.append("10:00")
      found.schema = "daily"
      #expect(Set(found.updateValue.keys) == ["times", "schema"])
      try await found.update()
      let stored = try #require(try await fields(found))
      #expect(stored["times"] as? [String] == ["9:00", "10:00"] && stored["schema"] as? String == "daily")
      #expect(try await fields("version/1/timetable/t/entries/e")?["text"] as? String == "maths")
      table.entries.remove(entry)
      try await table.update()
      #expect(try await fields("version/1/timetable/t/entries/e") == nil && table.entries.members == ["own"])
    }
  }
}
