/** The fold without the schemas of events: programs that only fold do not load those. */
export { foldEvents } from "./fold-event.ts"
export { emptyView, type RunView, tasksOf, type WorkflowView } from "./run-view.ts"
