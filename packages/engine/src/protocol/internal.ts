/** The fold without the schemas of events: programs that only fold do not load those. */
export { type EventFilter, matchesEvent } from "./event-filter.ts"
export { foldEvents, RunFold } from "./fold-event.ts"
export { RunOutline } from "./outline.ts"
export { emptyView, type RunView, tasksOf, type WorkflowView, withoutEnded } from "./run-view.ts"
