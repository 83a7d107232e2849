/** The telemetry port: what tracing and metrics observe of a run. It costs nothing if no telemetry is set. */
import type {
  EdgeGroup,
  ErrorData,
  Graph,
  NodeId,
  RunId,
  RunStatus,
  TaskId,
  Usage,
} from "../../core/index.ts"

export interface Telemetry {
  built(graph: Graph): void
  startRun(run: RunInfo): RunTelemetry
}

export interface RunInfo {
  readonly runId: RunId
  readonly workflow: string
  /** The position in the tree of nested workflows; empty for the run itself. */
  readonly path: readonly string[]
  /** W3C traceparent of its caller: of a task, or of the process that started the run; of the run's first life when it is resumed. */
  readonly parent: string | undefined
  readonly resumed: boolean
  /** The thread of the run: the conversation that it belongs to. */
  readonly thread?: string | undefined
}

export interface RunTelemetry {
  /** W3C traceparent of the run, kept in its journal. */
  readonly trace: string | undefined
  startTask(task: TaskInfo): TaskTelemetry
  /** Only the first call counts. */
  end(status: RunStatus, error: ErrorData | undefined, usage: Usage): void
}

export interface TaskInfo {
  readonly task: TaskId
  readonly node: NodeId
  readonly kind: string
  readonly attempt: number
  readonly superstep: number
  /** W3C traceparents of the tasks that caused this one: a join has all of them. */
  readonly causes: readonly string[]
  /** Milliseconds between its message and its start; absent for a retry, and where it began in another life. */
  readonly queuedMs?: number | undefined
}

/** Its `trace` is on the messages that the task sends; its handler runs `within` it. */
export interface TaskTelemetry extends WorkTelemetry {
  /** One message was routed along an edge group to these nodes; an empty list means that it was dropped. */
  routed(kind: EdgeGroup["kind"], targets: readonly NodeId[]): void
  end(outcome: TaskOutcome): void
}

export interface TaskOutcome {
  readonly error?: ErrorData | undefined
  /** The failure is followed by another attempt. */
  readonly retried?: boolean | undefined
  readonly usage?: Usage | undefined
}

let current: Telemetry | undefined

/** Sets the default telemetry of all runs; undefined turns it off. */
export function setTelemetry(telemetry: Telemetry | undefined): void {
  current = telemetry
}

export function currentTelemetry(): Telemetry | undefined {
  return current
}

/** The telemetry of work inside a task: an agent, its model calls and tool calls. */
export interface WorkTelemetry {
  /** W3C traceparent: what is called from here carries it. */
  readonly trace: string | undefined
  /** Runs the function so that spans made inside it are children of this one. */
  within<T>(run: () => T): T
  startAgent(agent: AgentInfo): AgentTelemetry
  startModelCall(call: ModelCallInfo): ModelCallTelemetry
  startToolCall(call: ToolCallInfo): ToolCallTelemetry
}

export interface AgentInfo {
  readonly agent: string
  readonly description?: string | undefined
  /** The remote endpoint, if the agent is not in this process. */
  readonly remote?: RemoteAgentInfo | undefined
}

export interface RemoteAgentInfo {
  /** The provider or the protocol: `gen_ai.provider.name`. */
  readonly provider: string
  readonly url: string
}

export interface AgentTelemetry extends WorkTelemetry {
  end(error?: ErrorData): void
}

export interface ToolCallInfo {
  readonly tool: string
  readonly description: string
  /** The id that the model gave the call. */
  readonly id: string
  readonly agent: string
  /** The work began before a restart: it is reported only if it does something that is not recorded yet. */
  readonly isResumed: boolean
}

export interface ToolCallTelemetry extends WorkTelemetry {
  /** Whether to pass arguments and results, with secrets masked. */
  readonly wantsContent: boolean
  end(outcome: ToolCallOutcome): void
}

export interface ToolCallOutcome {
  readonly error?: ErrorData | undefined
  /** JSON. */
  readonly args?: string | undefined
  readonly result?: string | undefined
}

/** A model, and the kind of answer that is requested. */
export interface AskedModel {
  /** The model's own provider name, such as `openai.responses`. */
  readonly provider: string
  readonly model: string
  readonly settings: AskedSettings
}

export interface AskedSettings {
  readonly temperature?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly topP?: number | undefined
  readonly topK?: number | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
  readonly seed?: number | undefined
}

export interface ModelCallInfo extends AskedModel {
  readonly agent: string
  /** Whether JSON is requested, not text. */
  readonly isJson: boolean
}

/** One call as its caller sees it, with all attempts and fallbacks. */
export interface ModelCallTelemetry {
  /** Whether to pass prompts and answers, with secrets masked. */
  readonly wantsContent: boolean
  /** An attempt begins: the function asks the model, and runs like one of `within`. */
  attempt<T>(asked: AskedModel, isStreamed: boolean, ask: () => T): T
  attemptFailed(error: ErrorData): void
  /** The first chunk of a stream arrived. Only the first call in each attempt counts. */
  began(): void
  /** What the provider reported about its answer. */
  answered(answer: AnswerInfo): void
  end(outcome: ModelCallOutcome): void
}

/** As the provider reported it: nothing is estimated. */
export interface AnswerInfo {
  readonly id?: string | undefined
  readonly model?: string | undefined
  readonly finish?: string | undefined
  readonly tokens?: AnswerTokens | undefined
}

export interface AnswerTokens {
  readonly input?: number | undefined
  /** Parts of `input`. */
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly output?: number | undefined
  /** Part of `output`. */
  readonly reasoning?: number | undefined
}

export interface ModelCallOutcome {
  readonly error?: ErrorData | undefined
  /** JSON, in the shape that OpenTelemetry's conventions for generative AI have for messages. */
  readonly instructions?: string | undefined
  readonly input?: string | undefined
  readonly output?: string | undefined
}
