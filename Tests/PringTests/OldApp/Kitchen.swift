// A small app that was written for the original Pring, without the parts that need the Objective-C runtime.
//
// The app uses plain collections, data sources that are read once and not kept, key paths to enums, and
// batches that delete. The app compiles in both language modes, and KitchenTests runs it.

import FirebaseFirestore
import Foundation
import Pring

class Cook: Object {
  dynamic var name: String?
  let recipes: ReferenceCollection<Recipe> = []
}

class Recipe: Object {
  @objc enum Course: Int { case starter, main, dessert }

  dynamic var title: String?
  dynamic var course: Course = .main
  let steps: SubCollection<Step> = []
  let author: Reference<Cook> = .init()

  override func encode(_ key: String, value: Any?) -> Any? {
    if key == "course" { return self.course.rawValue }
    return nil
  }

  override func decode(_ key: String, value: Any?) -> Bool {
    if key == "course" {
      if let raw = value as? Int, let course = Course(rawValue: raw) { self.course = course }
      return true
    }
    return false
  }
}

class Step: Object {
  dynamic var text: String?
  dynamic var number: Int = 0
}

/// The controller of a cook's screen.
class KitchenController {
  let cook: Cook

  init(cook: Cook) {
    self.cook = cook
  }

  func add(
    title: String, course: Recipe.Course, texts: [String], completion: @escaping ((any Error)?) -> Void
  ) {
    let recipe: Recipe = Recipe(id: title)
    recipe.title = title
    recipe.course = course
    recipe.author.set(self.cook)
    for (index, text) in texts.enumerated() {
      let step: Step = Step(id: "\(index)")
      step.text = text
      step.number = index
      recipe.steps.insert(step)
    }
    self.cook.recipes.insert(recipe)
    if self.cook.isSaved {
      self.cook.update { (error) in completion(error) }
    } else {
      self.cook.save { (_, error) in completion(error) }
    }
  }

  /// Calls `completion` with the recipes and the names of their authors.
  func showRecipes(completion: @escaping ([String]) -> Void) {
    self.cook.recipes.query.dataSource()
      .on(parse: { (_, recipe, done) in
        recipe.author.get { (_, _) in done(recipe) }
      })
      .onCompleted { (_, recipes) in
        completion(recipes.map { "\($0.title ?? "") by \($0.author.object?.name ?? "")" })
      }
      .get()
  }

  func showSteps(of recipe: Recipe, completion: @escaping ([String]) -> Void) {
    recipe.steps.order(by: \Step.number).dataSource()
      .onCompleted { (_, steps) in completion(steps.compactMap { $0.text }) }
      .get()
  }

  func removeLastStep(of recipe: Recipe, completion: @escaping ((any Error)?) -> Void) {
    recipe.steps.get(recipe.steps.order(by: \Step.number)) { (_, steps) in
      if let last = steps.last { recipe.steps.remove(last) }
      recipe.update { (error) in completion(error) }
    }
  }

  func showTitles(of course: Recipe.Course, completion: @escaping ([String]) -> Void) {
    Recipe.where(\Recipe.course, isEqualTo: course.rawValue).dataSource()
      .onCompleted { (_, recipes) in completion(recipes.compactMap { $0.title }) }
      .get()
  }

  func delete(_ recipes: [Recipe], completion: @escaping ((any Error)?) -> Void) {
    let batch: WriteBatch = Firestore.firestore().batch()
    for recipe in recipes {
      batch.add(.delete, object: recipe)
    }
    batch.commit { (error) in completion(error) }
  }
}
