/**
 * Questions to people: the list on one side, the chosen question with its form on the other. J and K move, Enter answers, E passes
 * the question on.
 */
import type { Request } from "@superstep/client"
import { useEffect, useMemo, useRef, useState } from "react"
import { Link } from "wouter"
import { MAX_OPEN, useClosedRequests, useMay, useOpenRequests } from "../api/queries.ts"
import { runHref, useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { Who } from "../frame/who.tsx"
import { Button } from "../ui/button.tsx"
import { Time } from "../ui/figures.tsx"
import { line, shortId } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loaded, Loading } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Table } from "../ui/table.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { Answer } from "./answer.tsx"
import { Escalate } from "./escalate.tsx"
import styles from "./inbox.module.css"
import { approvalOf, handOffOf, requestOf } from "./open-request.ts"

export function Inbox() {
  const [params, setAddress] = useAddress()
  const isOpen = params.get("show") !== "answered"
  return (
    <>
      <Bar trail={[{ name: "Inbox" }]} />
      <Tabs
        label="Questions"
        tabs={[
          { id: "open", label: "Open" },
          { id: "answered", label: "Answered" },
        ]}
        selected={isOpen ? "open" : "answered"}
        onSelect={(show) => setAddress({ show: show === "open" ? undefined : show, q: undefined })}
      />
      {isOpen ? <OpenQuestions /> : <Answered />}
    </>
  )
}

function idOf({ run, id }: Request): string {
  return `${run}/${id}`
}

function OpenQuestions() {
  const [params, setAddress] = useAddress()
  const { data = [], isPending, isError, error, refetch } = useOpenRequests()
  const wanted = params.get("q")
  const chosen = data.find((one) => idOf(one) === wanted) ?? data[0]
  const [isAnswering, setAnswering] = useState(false)
  const [isPassing, setPassing] = useState(false)
  const latest = useRef({ data, chosen })
  latest.current = { data, chosen }
  const choose = (one: Request | undefined) => {
    setAddress({ q: one === undefined ? undefined : idOf(one) }, { replace: true })
    setAnswering(false)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: what it uses is in `latest`
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (
        (event.target as Element).closest("input, textarea, select, dialog") !== null ||
        event.metaKey ||
        event.ctrlKey
      )
        return
      const { data: list, chosen: now } = latest.current
      const at = now === undefined ? -1 : list.indexOf(now)
      if (event.key === "j") choose(list[Math.min(list.length - 1, at + 1)])
      else if (event.key === "k") choose(list[Math.max(0, at - 1)])
      else if (event.key === "Enter" && (event.target as Element).closest("button, a") === null)
        setAnswering(true)
      else if (event.key === "e" && now !== undefined) setPassing(true)
      else return
      event.preventDefault()
    }
    window.addEventListener("keydown", onKey)
    return () => window.removeEventListener("keydown", onKey)
  }, [])
  if (isError && data.length === 0) return <Failure error={error} retry={() => void refetch()} />
  if (isPending) return <Loading lines={8} />
  if (chosen === undefined) {
    return (
      <Empty icon="inbox" title="Nobody waits for you">
        Questions, approvals and hand-offs of all runs appear here as soon as they are asked.
      </Empty>
    )
  }
  return (
    <div className={`${parts.sides} ${styles.inbox}`}>
      <ul className={`${parts.list} ${styles.list}`} aria-label="Open questions">
        {data.map((one) => (
          <li key={idOf(one)}>
            <Row request={one} isChosen={one === chosen} onChoose={() => choose(one)} />
          </li>
        ))}
        {data.length === MAX_OPEN && (
          <li className={styles.more}>These are the oldest. Later ones follow as you answer.</li>
        )}
      </ul>
      <Question key={idOf(chosen)} item={chosen} isAnswering={isAnswering} onPass={() => setPassing(true)} />
      {isPassing && <Escalate run={chosen.run} request={chosen.id} onClose={() => setPassing(false)} />}
    </div>
  )
}

function Row({
  request: one,
  isChosen,
  onChoose,
}: {
  readonly request: Request
  readonly isChosen: boolean
  readonly onChoose: () => void
}) {
  const { prompt, to } = requestOf(one.id, one.request)
  return (
    <button type="button" className={parts.item} aria-current={isChosen || undefined} onClick={onChoose}>
      <span className={styles.prompt}>{line(prompt, 90)}</span>
      <span className={styles.meta}>
        {one.workflow}
        {to === undefined ? "" : ` · for ${to}`} ·{" "}
        {one.openedAt === undefined ? "" : <Time at={one.openedAt} />}
      </span>
    </button>
  )
}

interface QuestionProps {
  readonly item: Request
  readonly isAnswering: boolean
  readonly onPass: () => void
}

function Question({ item, isAnswering, onPass }: QuestionProps) {
  const text = JSON.stringify(item.request)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each answer of the server is a new object; what it says decides
  const request = useMemo(() => requestOf(item.id, item.request), [item.run, item.id, text])
  const mayAnswer = useMay("operator")
  const isApproval = approvalOf(request) !== undefined
  const isHandOff = handOffOf(request) !== undefined
  return (
    <article className={styles.question} aria-label="Question">
      <header className={styles.head}>
        <Status status="waiting" isChip />
        <span>
          {item.workflow},{" "}
          <Link href={runHref(item.run)} className={styles.link}>
            run {shortId(item.run)}
          </Link>
        </span>
        {mayAnswer && (
          <Button look="quiet" onClick={onPass}>
            Pass on…
          </Button>
        )}
      </header>
      <h2 className={styles.text}>{request.prompt}</h2>
      <p className={styles.meta}>
        {isApproval ? "An agent asks for permission. " : isHandOff ? "A conversation is handed over. " : ""}
        {request.to === undefined ? "For anybody" : `For ${request.to}`}
        {item.openedAt !== undefined && (
          <>
            , asked <Time at={item.openedAt} />
          </>
        )}
        {request.deadline !== undefined && (
          <>
            , to be answered <Time at={request.deadline} />
          </>
        )}
      </p>
      <Answer key={`${isAnswering}`} run={item.run} request={request} autoFocus={isAnswering} />
      <p className={styles.keys}>
        <kbd>J</kbd> next <kbd>K</kbd> previous{" "}
        {mayAnswer && (
          <>
            <kbd>Enter</kbd> answer <kbd>E</kbd> pass on
          </>
        )}
      </p>
    </article>
  )
}

function Answered() {
  const empty = (
    <Empty icon="inbox" title="Nothing was answered yet">
      Who answered a question, and when, is kept here.
    </Empty>
  )
  return (
    <Loaded query={useClosedRequests()} lines={8} empty={empty}>
      {(data) => <AnsweredTable rows={data} />}
    </Loaded>
  )
}

function AnsweredTable({ rows }: { readonly rows: readonly Request[] }) {
  return (
    <Table
      label="Answered questions"
      rows={rows}
      idOf={idOf}
      columns={[
        {
          id: "question",
          title: "Question",
          cell: (one) => (
            <span className={styles.asked}>{line(requestOf(one.id, one.request).prompt, 100)}</span>
          ),
        },
        { id: "by", title: "By", cell: ({ by }) => (by === undefined ? "–" : <Who id={by} />) },
        {
          id: "when",
          title: "When",
          cell: ({ closedAt }) => (closedAt === undefined ? "–" : <Time at={closedAt} />),
        },
        {
          id: "run",
          title: "Run",
          cell: ({ run, workflow }) => (
            <Link href={runHref(run)} className={styles.link}>
              {workflow} <span className={styles.id}>{shortId(run)}</span>
            </Link>
          ),
        },
      ]}
    />
  )
}
