/** Functions for `prepareStep` that choose a model for each call, by the names of the agent's `models`. */
import type { Json } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import { messageText } from "../models/internal.ts"
import { scoresOf, tellingWords } from "../text/internal.ts"
import { type Toolset, tool } from "../tools/index.ts"
import { objectInput } from "../tools/internal.ts"
import type { PrepareInfo } from "./middleware.ts"
import type { StepPlan } from "./step-plan.ts"

/** One model after the other. */
export function rotateModels(names: readonly string[]): (info: PrepareInfo) => StepPlan {
  return ({ step }) => ({ model: names[(step - 1) % names.length] })
}

export interface ModelRoute {
  /** A name from the agent's `models`. */
  readonly model: string
  /** Messages that this model answers. */
  readonly examples: readonly string[]
}

/**
 * The model whose examples are most like the user's last message, by the words they share. If they share none, the agent's
 * own model answers.
 */
export function routeModels(routes: readonly ModelRoute[]): (info: PrepareInfo) => StepPlan {
  const examples = routes.flatMap(({ model, examples: texts }) => texts.map((text) => ({ model, text })))
  const words = examples.map(({ text }) => tellingWords(text).join(" "))
  return ({ messages }) => {
    const last = messages.findLast(({ role }) => role === "user")
    const asked = last === undefined ? "" : tellingWords(messageText(last)).join(" ")
    const scores = scoresOf(asked, words)
    const best = Math.max(0, ...scores)
    return best === 0 ? {} : { model: examples[scores.indexOf(best)]?.model }
  }
}

const CHANGE = "change_model"
const REVERT = "revert_model"

/** Tools with which an agent changes its own model. Pass the same names to `pickedModel`, as `prepareStep`. */
export function modelPicker(names: readonly string[]): Toolset {
  const list = names.join(", ")
  const change = tool({
    name: CHANGE,
    description: `Continues with another model: ${list}.`,
    input: objectInput({ model: { type: "string", enum: names } }, ["model"]),
    approval: "never",
    idempotent: true,
    run: ({ model }: { model: string }): Json => ({ model }),
  })
  const revert = tool({
    name: REVERT,
    description: "Continues with the model that you began with.",
    approval: "never",
    idempotent: true,
    run: (): Json => ({ model: null }),
  })
  return {
    name: "model_picker",
    instructions: `You can change your model with ${CHANGE}, to a stronger one for a hard part of the task or to a faster one for a simple part: ${list}. Return to your own with ${REVERT}.`,
    tools: () => [change, revert],
  }
}

/** The model that the agent picked last, from the results in its conversation: a resumed task has the same. */
export function pickedModel(names: readonly string[]): (info: PrepareInfo) => StepPlan {
  return ({ messages }) => {
    const model = messages.flatMap(pickedIn).at(-1)
    return typeof model === "string" && names.includes(model) ? { model } : {}
  }
}

function pickedIn(message: Message): unknown[] {
  if (message.role !== "tool") return []
  return message.content.flatMap((part) => {
    const isPick = part.type === "tool-result" && (part.toolName === CHANGE || part.toolName === REVERT)
    if (!isPick || part.output.type !== "json") return []
    return [(Object(part.output.value) as { model?: unknown }).model]
  })
}
