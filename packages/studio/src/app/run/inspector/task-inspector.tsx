/** One task: what it received, what it sent and where to, what it wrote, its attempts, its calls of models, its logs. */
import {
  emptyView,
  foldEvents,
  type RunEvent,
  type TaskView,
  taskOf,
  workflowAt,
} from "@superstep/engine/protocol"
import { useQuery } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { Time } from "../../ui/figures.tsx"
import { clock, duration, exact, plural } from "../../ui/format.ts"
import { JsonView } from "../../ui/json-view.tsx"
import { Empty, Failure, Loading } from "../../ui/states.tsx"
import { Tabs } from "../../ui/tabs.tsx"
import { usageWords, waitWords } from "../event-words.ts"
import { nodeKey, nodePath, parseTaskKey, taskKey } from "../keys.ts"
import { useNames } from "../node-names.ts"
import type { InspectorProps } from "../run-view-props.ts"
import { useEventList } from "../use-events.ts"
import { viewOf } from "../use-run.ts"
import { Changes } from "./changes.tsx"
import { ErrorBox, Head, Section } from "./head.tsx"
import styles from "./inspector.module.css"
import { ModelTurnView } from "./model-turn.tsx"
import { changesBetween } from "./state-diff.ts"
import { type TaskDetail, taskDetail } from "./task-detail.ts"

type Part = "model" | "data" | "state" | "steps" | "attempts" | "logs"

export function TaskInspector(props: InspectorProps & { readonly taskKey: string }) {
  const { run, history, version, point, taskKey: key } = props
  const { path, task: id } = useMemo(() => parseTaskKey(key), [key])
  const list = useEventList(run, history, version, { task: { path, id } })
  const events = useMemo(() => list.events.filter(({ seq }) => seq <= point), [list.events, point])
  const detail = useMemo(() => taskDetail(events), [events])
  const task = useMemo(() => {
    const workflow = workflowAt(foldEvents(emptyView(), events), path)
    return workflow === undefined ? undefined : taskOf(workflow, id)
  }, [events, path, id])
  if (task === undefined) {
    return (
      <>
        <Head title={`Task ${id}`} about="" />
        {list.error !== null ? (
          <Failure error={list.error} />
        ) : list.isLoading ? (
          <Loading lines={6} label="Loading the task" />
        ) : (
          <Empty icon="clock" title="Not started">
            At this point of the run, this task has not started.
          </Empty>
        )}
      </>
    )
  }
  return <LoadedTask {...props} task={task} events={events} detail={detail} />
}

interface LoadedTaskProps extends InspectorProps {
  readonly taskKey: string
  readonly task: TaskView
  readonly events: readonly RunEvent[]
  readonly detail: TaskDetail
}

function LoadedTask({ task, run, events, detail, history, point, taskKey: key }: LoadedTaskProps) {
  const names = useNames()
  const titleOf = (id: string) => names.title(nodeKey(nodePath(parseTaskKey(key).path), id))
  const logs = history.logs.filter((one) => one.seq <= point && taskKey(one.path, one.task) === key)
  const live = [...history.texts.values()].filter((one) => one.task === key && point >= history.length)
  const others = detail.steps.filter(({ seq }) => !detail.turns.some((turn) => turn.seq === seq))
  const tabs = [
    ...(detail.turns.length > 0 || live.length > 0
      ? [{ id: "model" as const, label: "Model", count: detail.turns.length }]
      : []),
    { id: "data" as const, label: "Input, output" },
    { id: "state" as const, label: "State", count: detail.writes.length },
    ...(others.length > 0 ? [{ id: "steps" as const, label: "Steps", count: others.length }] : []),
    { id: "attempts" as const, label: "Attempts", count: detail.attempts.length },
    ...(logs.length > 0 ? [{ id: "logs" as const, label: "Logs", count: logs.length }] : []),
  ]
  const [chosen, setChosen] = useState<Part>()
  const part = tabs.some(({ id }) => id === chosen) ? (chosen as Part) : (tabs[0]?.id ?? "data")
  const took = task.finishedAt === undefined ? "" : duration(task.finishedAt - task.startedAt)
  return (
    <>
      <Head
        title={titleOf(task.node)}
        status={task.status}
        about={[
          `task ${task.id}`,
          task.attempt > 1 ? `attempt ${task.attempt}` : "",
          took,
          detail.from === undefined ? "" : `from ${titleOf(detail.from)}`,
        ]
          .filter((word) => word !== "")
          .join(" · ")}
      />
      <Tabs label="Parts of the task" tabs={tabs} selected={part} onSelect={setChosen} />
      <div className={styles.body} tabIndex={0} role="region" aria-label="Details of the task">
        {task.error !== undefined && <ErrorBox error={task.error} />}
        {task.waits.map((wait, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: waits have no names, and their order does not change
          <p key={i} className={styles.waits}>
            {waitWords(wait as Parameters<typeof waitWords>[0])}
          </p>
        ))}
        {part === "model" && (
          <>
            {detail.turns.map((turn) => (
              <ModelTurnView key={turn.seq} turn={turn} />
            ))}
            {live.map(({ text, startedAt }) => (
              <article key={startedAt} className={styles.turn}>
                <p className={styles.dim}>writing since {clock(startedAt)}</p>
                <p className={styles.prose}>{text}</p>
              </article>
            ))}
          </>
        )}
        {part === "data" && <Data detail={detail} />}
        {part === "state" && <Writes detail={detail} run={run} events={events} path={task.path} />}
        {part === "steps" &&
          others.map(({ key: name, value, seq }) => (
            <Section key={seq} title={name}>
              <JsonView value={value} name={name} isBare />
            </Section>
          ))}
        {part === "attempts" && <Attempts detail={detail} />}
        {part === "logs" &&
          logs.map((one, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of a log are never removed
            <div key={i} className={styles.log} data-level={one.type === "log" ? one.level : "info"}>
              <time title={exact(one.at)}>{clock(one.at)}</time> {one.type === "log" ? one.message : one.name}
              {one.data !== undefined && <JsonView value={one.data} name="data" isBare />}
            </div>
          ))}
      </div>
    </>
  )
}

function Data({ detail }: { readonly detail: TaskDetail }) {
  return (
    <>
      <Section title="Input">
        <JsonView value={detail.input} name="input" />
      </Section>
      {detail.sends.map((send, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages have no names, and never change
        <Section key={i} title={`Output${routeWords(send.route)}`}>
          <JsonView value={send.value} name="output" />
        </Section>
      ))}
      {detail.usage.length > 0 && (
        <Section title="Used">
          {detail.usage.map(({ model, usage }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: entries have no names, and never change
            <p key={i}>{usageWords(usage, model)}</p>
          ))}
        </Section>
      )}
    </>
  )
}

function routeWords(route: TaskDetail["sends"][number]["route"]): string {
  const targets = [...(route.nodes ?? []), ...(route.maps ?? []).map((one) => `each item to ${one}`)]
  if (route.joins !== undefined && route.joins.length > 0) targets.push("a join")
  if (route.output === true) targets.push("the output")
  return targets.length === 0
    ? route.reason === undefined
      ? ""
      : `: ${route.reason}`
    : ` to ${targets.join(", ")}`
}

interface WritesProps {
  readonly detail: TaskDetail
  readonly run: string
  readonly events: readonly RunEvent[]
  readonly path: readonly string[]
}

/** The state before the task's first write, against the state after its last one. */
function Writes({ detail, run, events, path }: WritesProps) {
  const writes = events.filter(({ type }) => type === "state.written")
  const [first, last] = [writes[0]?.seq, writes.at(-1)?.seq]
  const states = useQuery({
    queryKey: ["states", run, first, last],
    enabled: first !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      await Promise.all([(first ?? 1) - 1, last ?? 1].map((at) => viewOf(run, at, signal))),
  })
  const changes = useMemo(() => {
    const [before, after] = (states.data ?? []).map((view) => workflowAt(view, path)?.state ?? {})
    return before === undefined || after === undefined ? [] : changesBetween(before, after)
  }, [states.data, path])
  if (detail.writes.length === 0) return <p className={styles.note}>The task wrote nothing to the state.</p>
  return (
    <>
      {changes.length > 0 && (
        <Section title="State before and after">
          <Changes changes={changes} />
        </Section>
      )}
      <Section title={plural(detail.writes.length, "write")}>
        {detail.writes.map(({ key, reducer, value }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: writes have no names, and never change
          <div key={i} className={styles.write}>
            <p>
              <code>{key}</code> <span className={styles.dim}>{reducer}</span>
            </p>
            <JsonView value={value} name={key} isBare />
          </div>
        ))}
      </Section>
    </>
  )
}

function Attempts({ detail }: { readonly detail: TaskDetail }) {
  return (
    <>
      {detail.attempts.map(({ number, startedAt, endedAt, error, retryAt }) => (
        <Section key={number} title={`Attempt ${number}`}>
          <p className={styles.dim}>
            started <Time at={startedAt} />
            {endedAt !== undefined && `, took ${duration(endedAt - startedAt)}`}
            {retryAt !== undefined && endedAt !== undefined && `, next after ${duration(retryAt - endedAt)}`}
          </p>
          {error !== undefined && <ErrorBox error={error} />}
        </Section>
      ))}
    </>
  )
}
