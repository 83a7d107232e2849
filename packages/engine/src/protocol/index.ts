/** Events and wire types, and the fold from events to a run's view: for servers, the CLI and the studio. */

export type { Paged } from "./draft.ts"
export { parseEvent, type RunEvent, runEvent } from "./events.ts"
export { foldEvent, foldEvents, RunFold } from "./fold-event.ts"
export { type DurableEvent, isLive, type LiveEvent, type LogEvent } from "./live-events.ts"
export { json } from "./payloads.ts"
export {
  emptyView,
  openRequests,
  openWaits,
  type RequestView,
  type RunView,
  type SuperstepView,
  superstepsOf,
  type TaskView,
  taskOf,
  tasksOf,
  type WorkflowView,
  workflowAt,
} from "./run-view.ts"
