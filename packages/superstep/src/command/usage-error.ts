/** A command that was called wrongly: the sentence says how to call it. */
import { isSuperstepError, SuperstepError } from "@superstep/engine"

export function usageError(message: string, cause?: unknown): SuperstepError {
  return new SuperstepError("USAGE", message, { cause, retryable: false })
}

/** What is wrong with how the command was called, with its definition or its store: not with a run. */
const CODES = new Set([
  "USAGE",
  "AGENT_INVALID",
  "AGENT_UNKNOWN",
  "DEFINITION_INVALID",
  "DEFINITION_UNKNOWN",
  "GRAPH_INVALID",
  "INDEX_EMBEDDINGS_OTHER",
  "INDEX_UNUSABLE",
  "INPUT_INVALID",
  "MODEL_CONFIG_INVALID",
  "MODEL_KEY_MISSING",
  "MODEL_NAME_INVALID",
  "MODEL_PROVIDER_MISSING",
  "MODEL_PROVIDER_UNKNOWN",
  "NODE_UNKNOWN",
  "OPTION_INVALID",
  "REQUEST_INVALID",
  "REQUEST_UNKNOWN",
  "RUN_EXISTS",
  "RUN_NOT_FAILED",
  "RUN_UNKNOWN",
  "SCRIPT_INVALID",
  "STORE_UNUSABLE",
  "SUPERSTEP_UNKNOWN",
  "VALUE_TOO_LARGE",
])

export function isUsage(error: unknown): boolean {
  return isSuperstepError(error) && CODES.has(error.code)
}
