/** Events and wire types, and the fold from events to a run's view: for servers, the CLI and the studio. */

export { type EventFilter, matchesEvent } from "./event-filter.ts"
export { json, parseEvent, type RunEvent, runEvent } from "./events.ts"
export { foldEvent, foldEvents, RunFold } from "./fold-event.ts"
export { MARK, type OutlineData, type OutlineEdge, type OutlineTask, RunOutline } from "./outline.ts"
export {
  type DurableEvent,
  emptyView,
  isLive,
  type LiveEvent,
  type LogEvent,
  openRequests,
  openWaits,
  type Paged,
  type RequestView,
  type RunView,
  type SuperstepView,
  superstepsOf,
  type TaskView,
  taskOf,
  tasksOf,
  type WorkflowView,
  withoutEnded,
  workflowAt,
} from "./run-view.ts"
