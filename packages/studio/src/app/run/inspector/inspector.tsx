/** What is selected, in detail: the run, a node with its tasks, a task, a question, or an edge and why messages took it. */
import { IconButton } from "../../ui/button.tsx"
import { Duration } from "../../ui/figures.tsx"
import { count, shortId } from "../../ui/format.ts"
import { Empty, Loading } from "../../ui/states.tsx"
import { Status } from "../../ui/status.tsx"
import { type TaskAt, taskAt } from "../graph/node-states.ts"
import { nodeKey as keyOfNode, taskKey } from "../keys.ts"
import { useNames } from "../node-names.ts"
import type { InspectorProps } from "../run-view-props.ts"
import { EdgeWhy } from "./edge-why.tsx"
import { Head } from "./head.tsx"
import styles from "./inspector.module.css"
import { RunOverview } from "./run-overview.tsx"
import { TaskInspector } from "./task-inspector.tsx"

const MAX_TASKS = 200

export function Inspector(props: InspectorProps) {
  const { selection, onClose, isLoading, run } = props
  return (
    <aside className={styles.inspector} aria-label="Inspector">
      {isLoading ? (
        <>
          <Head title={shortId(run)} about="loading" />
          <Loading lines={8} label="Loading the run" />
        </>
      ) : selection === undefined ? (
        <RunOverview {...props} />
      ) : selection.kind === "node" ? (
        <NodeTasks {...props} nodeKey={selection.key} />
      ) : selection.kind === "task" ? (
        <TaskInspector key={selection.key} {...props} taskKey={selection.key} />
      ) : selection.kind === "edge" ? (
        <EdgeWhy {...props} edgeKey={selection.key} />
      ) : (
        <RunOverview {...props} />
      )}
      <span className={styles.close}>
        <IconButton
          icon="cross"
          label={selection === undefined ? "Hide the inspector" : "Back to the run"}
          onClick={onClose}
        />
      </span>
    </aside>
  )
}

/** The tasks of a node, in every call of its workflow: failed ones first, then the newest. One task is shown at once. */
function NodeTasks(props: InspectorProps & { readonly nodeKey: string }) {
  const { history, nodeKey, select } = props
  const names = useNames()
  const tasks = tasksAt(props, nodeKey)
  const name = names.title(nodeKey)
  const [only] = tasks
  if (only === undefined) {
    return (
      <>
        <Head title={name} about="node" />
        <Empty icon="clock" title="Not reached">
          At this point of the run, no message has reached this node.
        </Empty>
      </>
    )
  }
  if (tasks.length === 1) return <TaskInspector key={only.key} {...props} taskKey={only.key} />
  const failed = tasks.filter(({ now }) => now.status === "failed").length
  const { startedAt } = history.outline
  return (
    <>
      <Head
        title={name}
        about={`${count(tasks.length)} tasks${failed > 0 ? `, ${count(failed)} failed` : ""}`}
      />
      <ul className={styles.tasks} aria-label={`Tasks of ${name}`}>
        {tasks.slice(0, MAX_TASKS).map(({ key, id, now, error }) => (
          <li key={key}>
            <button type="button" className={styles.task} onClick={() => select({ kind: "task", key })}>
              <Status status={now.status} />
              <span className={styles.dim}>task {id}</span>
              {now.attempts > 1 && <span className={styles.dim}>attempt {now.attempts}</span>}
              <span className={styles.grow}>{error}</span>
              <Duration
                from={startedAt + now.from}
                to={now.to === undefined ? history.now.finishedAt : startedAt + now.to}
              />
            </button>
          </li>
        ))}
      </ul>
      {tasks.length > MAX_TASKS && (
        <p className={styles.note}>
          {count(tasks.length - MAX_TASKS)} more are in the timeline and the events.
        </p>
      )}
    </>
  )
}

interface ListedTask {
  readonly key: string
  readonly id: number
  readonly now: TaskAt
  readonly error: string | undefined
}

function tasksAt({ history, point }: InspectorProps, key: string): ListedTask[] {
  const { outline } = history
  const found: ListedTask[] = []
  for (const [i, task] of outline.tasks.entries()) {
    if (keyOfNode(history.nodePathOf(task.path), task.node) !== key) continue
    const now = taskAt(task, point)
    if (now === undefined) continue
    const error = now.status === "finished" || now.status === "running" ? undefined : outline.errors.get(i)
    found.push({ key: taskKey(outline.paths[task.path] ?? [], task.id), id: task.id, now, error })
  }
  const rank = ({ now: { status } }: ListedTask) => (status === "failed" ? 0 : status === "finished" ? 2 : 1)
  return found.sort((a, b) => rank(a) - rank(b) || b.now.from - a.now.from)
}
