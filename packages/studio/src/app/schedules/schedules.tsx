/** Schedules: when they fire next, what they did last, and everything to change about them. */
import type { Schedule } from "@superstep/client"
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query"
import { useMay } from "../api/queries.ts"
import { client } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { NeedsRole } from "../frame/needs-role.tsx"
import { Button, IconButton } from "../ui/button.tsx"
import { Time } from "../ui/figures.tsx"
import { exact, localTime } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loading, ShowMore } from "../ui/states.tsx"
import { Status } from "../ui/status.tsx"
import { Table, type TableColumn } from "../ui/table.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { BackfillDialog } from "./backfill.tsx"
import { Calendar } from "./calendar.tsx"
import { act, Last, ScheduleDrawer } from "./schedule-drawer.tsx"
import { ScheduleForm } from "./schedule-form.tsx"
import { timingWords } from "./schedule-words.ts"
import styles from "./schedules.module.css"

const PAGE = 100
/** How many of the next times of each schedule the drawer shows. */
const NEXT = 10

export default function Schedules() {
  const [params, setAddress] = useAddress()
  const mayChange = useMay("operator")
  const pages = useInfiniteQuery({
    queryKey: ["schedules"],
    queryFn: async ({ pageParam, signal }) => {
      const query = { limit: PAGE, next: NEXT, cursor: pageParam }
      return (await client.request("GET /v1/schedules", { query, signal })).data
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
    refetchInterval: 3_000,
  })
  const list = pages.data?.pages.flatMap(({ schedules }) => schedules)
  const named = (name: string) => list?.find(({ id }) => id === params.get(name))
  const close = () => setAddress({ s: undefined, edit: undefined, new: undefined, backfill: undefined })
  const [open, edited, filled] = [named("s"), named("edit"), named("backfill")]
  const isCalendar = params.get("v") === "calendar"
  return (
    <>
      <Bar trail={[{ name: "Schedules" }]}>
        <Button
          icon="plus"
          look="primary"
          disabled={!mayChange}
          onClick={() => setAddress({ new: "1", s: undefined })}
        >
          New schedule
        </Button>
      </Bar>
      <Tabs
        label="Schedules"
        tabs={[
          { id: "list", label: "List", count: pages.hasNextPage ? undefined : list?.length },
          { id: "calendar", label: "Calendar" },
        ]}
        selected={isCalendar ? "calendar" : "list"}
        onSelect={(v) => setAddress({ v: v === "list" ? undefined : v })}
      />
      <NeedsRole needs="operator" to="create or change schedules" className={styles.note} />
      {pages.isError && list === undefined ? (
        <Failure error={pages.error} retry={() => void pages.refetch()} />
      ) : list === undefined ? (
        <Loading lines={8} />
      ) : list.length === 0 ? (
        <Empty icon="schedules" title="No schedules yet">
          <p>
            A schedule starts runs of a workflow by itself: by a cron pattern in a time zone, at an interval,
            or once. Workflows can declare theirs; they appear here, too.
          </p>
        </Empty>
      ) : isCalendar ? (
        <Calendar onOpen={(s) => setAddress({ s })} />
      ) : (
        <Table
          label="Schedules"
          columns={columnsOf(mayChange, (s) => setAddress({ s }))}
          rows={list}
          idOf={({ id }) => id}
          footer={<ShowMore pages={pages} />}
        />
      )}
      {open !== undefined && (
        <ScheduleDrawer
          schedule={open}
          onClose={close}
          onEdit={() => setAddress({ edit: open.id, s: undefined })}
          onBackfill={() => setAddress({ backfill: open.id, s: undefined })}
        />
      )}
      {(params.has("new") || edited !== undefined) && (
        <ScheduleForm
          key={edited?.id ?? ""}
          schedule={edited}
          onClose={close}
          onSaved={(s) => setAddress({ edit: undefined, new: undefined, s })}
        />
      )}
      {filled !== undefined && <BackfillDialog schedule={filled} onClose={close} />}
    </>
  )
}

function columnsOf(mayChange: boolean, open: (id: string) => void): readonly TableColumn<Schedule>[] {
  return [
    {
      id: "id",
      title: "Schedule",
      cell: ({ id, workflow, isDeclared }) => (
        <span className={parts.name}>
          <button type="button" className={parts.open} onClick={() => open(id)}>
            {id}
          </button>
          <span className={parts.calm}>
            {workflow}
            {isDeclared && " declares it"}
          </span>
        </span>
      ),
    },
    {
      id: "when",
      title: "When",
      isExtra: true,
      cell: (schedule) => (
        <span className={parts.name}>
          <span>{timingWords(schedule)}</span>
          <span className={parts.calm}>
            {schedule.cron !== undefined && `${schedule.cron}, ${schedule.timeZone ?? "UTC"}`}
            {schedule.at !== undefined && (
              <span title={exact(schedule.at)}>{localTime(schedule.at).replace("T", " ")}</span>
            )}
          </span>
        </span>
      ),
    },
    { id: "next", title: "Next", cell: (schedule) => <Next schedule={schedule} /> },
    { id: "last", title: "Last", isExtra: true, cell: (schedule) => <Last schedule={schedule} /> },
    {
      id: "actions",
      title: "Actions",
      isTitleHidden: true,
      isNumber: true,
      cell: ({ id, isPaused }) => (
        <span className={parts.actions}>
          <IconButton
            icon="play"
            label={`Trigger ${id} now`}
            disabled={!mayChange}
            onClick={() => void act(id, "trigger")}
          />
          <IconButton
            icon={isPaused ? "loop" : "pause"}
            label={isPaused ? `Resume ${id}` : `Pause ${id}`}
            disabled={!mayChange}
            onClick={() => void act(id, isPaused ? "resume" : "pause")}
          />
        </span>
      ),
    },
  ]
}

function Next({ schedule: { isPaused, nextAt, pending } }: { readonly schedule: Schedule }) {
  if (isPaused) return <Status status="paused" />
  if (nextAt === undefined) return <span className={parts.calm}>never again</span>
  return (
    <>
      <Time at={nextAt} />
      {pending > 0 && <span className={parts.calm}>, {pending} asked for</span>}
    </>
  )
}
