/** The interface that a model is called through: providers differ in what they take. */
import { type Model, providerOf } from "../model.ts"

/**
 * `responses` and `chat` are OpenAI's and those of compatible servers, `messages` is Anthropic's. Others get calls as they
 * are: their packages know what they take.
 */
export type ModelInterface = "responses" | "chat" | "messages" | "other"

export function interfaceOf(model: Pick<Model, "provider">): ModelInterface {
  const { provider } = model
  // Its package names an interface of OpenAI, and speaks Ollama's own.
  if (providerOf(model) === "ollama") return "other"
  if (provider.endsWith(".responses")) return "responses"
  if (provider.endsWith(".chat")) return "chat"
  return provider.endsWith(".messages") ? "messages" : "other"
}
