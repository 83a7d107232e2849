import { expect, test } from "vitest"
import { scriptedModel } from "../models/index.ts"
import { agent } from "./agent.ts"
import { rotateModels, routeModels } from "./model-choice.ts"

/** A model that answers with its own name. */
const named = (name: string) => scriptedModel(Array.from({ length: 5 }, () => name))

test("models take turns, call by call", async () => {
  const models = { a: named("a"), b: named("b") }
  const one = agent({ name: "x", model: models.a, models, prepareStep: rotateModels(["a", "b"]), tools: [] })
  // The first call of each conversation is the first model's.
  expect((await one.run("hi")).outputs).toEqual(["a"])
  const choose = rotateModels(["a", "b", "c"])
  const turns = [1, 2, 3, 4].map((step) => choose({ step } as never).model)
  expect(turns).toEqual(["a", "b", "c", "a"])
})

test("a message goes to the model whose examples it is most like, else to the agent's own", async () => {
  const models = { math: named("math"), code: named("code") }
  const one = agent({
    name: "x",
    model: named("own"),
    models,
    prepareStep: routeModels([
      { model: "math", examples: ["Solve this equation", "What is the integral of x?"] },
      { model: "code", examples: ["Write a function in TypeScript", "Fix the bug in this function"] },
    ]),
  })
  const answerTo = async (message: string) => (await one.run(message)).outputs[0]
  expect(await answerTo("Can you solve the equations for me?")).toBe("math")
  expect(await answerTo("There is a bug in my function")).toBe("code")
  expect(await answerTo("Good morning")).toBe("own")
  // Words that every sentence has say nothing.
  expect(await answerTo("What is this for?")).toBe("own")
})
