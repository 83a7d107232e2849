// For development: the ranking is tuned on this domain, and it is not in the table.
import { csvOf, cycle, dates, numbersFrom, sqlRows } from "../make.mjs"

const random = numbersFrom(11)
const guests = ["Ingrid Solberg", "Tomas Pereira", "Yuki Tanaka", "Amara Okafor", "Lena Vogt", "Paolo Ricci"]

export const hotel = {
  name: "hotel",
  sql: `
    CREATE TABLE gst (gst_id int PRIMARY KEY, gst_nm text, ctry char(2), loy_tier text);
    CREATE TABLE rm_typ (typ_cd text PRIMARY KEY, typ_dsc text, nt_rate numeric(8, 2));
    CREATE TABLE rm (rm_no int PRIMARY KEY, typ_cd text REFERENCES rm_typ, flr int);
    CREATE TABLE rsv (rsv_id int PRIMARY KEY, gst_id int REFERENCES gst, rm_no int REFERENCES rm, arr_dt date, dep_dt date, chnl text, stat text);
    CREATE TABLE fol_ln (ln_id int PRIMARY KEY, rsv_id int REFERENCES rsv, itm text, amt numeric(8, 2));
    COMMENT ON TABLE fol_ln IS 'charges to the room';
    ${sqlRows(
      "gst",
      guests.map((name, i) => [
        i + 1,
        name,
        cycle(["NO", "PT", "JP", "NG", "DE", "IT"], i),
        cycle(["gold", "silver", "none"], i),
      ]),
    )}
    ${sqlRows("rm_typ", [
      ["SGL", "single", 90],
      ["DBL", "double with balcony", 140],
      ["STE", "suite", 310],
    ])}
    ${sqlRows(
      "rm",
      Array.from({ length: 24 }, (_, i) => [
        100 + i,
        cycle(["SGL", "DBL", "DBL", "STE"], i),
        1 + Math.floor(i / 8),
      ]),
    )}
    ${sqlRows(
      "rsv",
      dates("2023-01-05", 60, 9).map((day, i) => [
        i + 1,
        1 + Math.floor(random() * guests.length),
        100 + Math.floor(random() * 24),
        day,
        day,
        cycle(["phone", "web", "agency", "web"], i),
        cycle(["checked out", "cancelled", "no-show", "checked out"], i),
      ]),
    )}
    ${sqlRows(
      "fol_ln",
      Array.from({ length: 90 }, (_, i) => [
        i + 1,
        1 + (i % 60),
        cycle(["minibar", "laundry", "parking", "spa"], i),
        4 + (i % 17),
      ]),
    )}`,
  files: {
    "nrg_mtr.csv": csvOf(
      ["mtr", "rd_dt", "kwh"],
      dates("2024-01-01", 40, 7).map((day, i) => [
        cycle(["laundry room", "kitchen", "pool"], i),
        day,
        100 + i,
      ]),
    ),
    "shft_pln.csv": csvOf(
      ["emp", "job", "wk_day", "st_hr", "hrs"],
      Array.from({ length: 30 }, (_, i) => [
        cycle(["Dana Novak", "Eli Brandt", "Sofia Marin"], i),
        cycle(["receptionist", "housekeeper", "cook"], i),
        cycle(["Mon", "Tue", "Wed", "Thu", "Fri"], i),
        cycle([6, 14, 22], i),
        8,
      ]),
    ),
    "splr_dlv.csv": csvOf(
      ["splr", "gds", "kg", "dlv_dt"],
      dates("2024-02-01", 30, 5).map((day, i) => [
        cycle(["Nordfisk", "Bakehouse Lund", "Greenfield Dairy"], i),
        cycle(["salmon", "bread", "milk"], i),
        10 + i,
        day,
      ]),
    ),
  },
  documents: [
    {
      source: "cancellation.md",
      text: "# Cancelling a booking\n\nA guest who cancels up to 48 hours before arrival pays nothing. Later than that the first night is charged. Groups of more than ten rooms have a contract of their own.",
    },
    {
      source: "fire.md",
      text: "# When the alarm sounds\n\nLeave the building by the nearest stairs, never by the lift. The receptionist on duty takes the list of occupied rooms to the meeting point in the car park and calls the fire brigade.",
    },
    {
      source: "pets.md",
      text: "# Animals\n\nDogs and cats are welcome in rooms of the first floor. They are not let into the breakfast room. A cleaning fee is put on the bill.",
    },
    {
      source: "housekeeping.md",
      text: "# Cleaning rooms\n\nStrip the bed first, open the window, then clean the bathroom from top to bottom. Towels on the floor are changed; towels on the rail stay. Broken items are reported to the caretaker on the yellow slip.",
    },
    {
      source: "lost.md",
      text: "# Lost property\n\nWhatever is found is labelled with the room and the day and kept in the safe for six months. Valuables are reported to the manager at once. Postage is paid by the owner.",
    },
    {
      source: "night.md",
      text: "# Night audit\n\nThe night porter closes the day at two in the morning: compare the cash drawer with the report, print the arrivals of the coming day, and back up the front desk system.",
    },
    {
      source: "overbooking.md",
      text: "# When the house is full\n\nIf there are more arrivals than rooms, guests of the agency are moved first to our partner across the square. The house pays the taxi and the difference in price. Members with gold status are never moved.",
    },
    {
      source: "allergy.md",
      text: "# Allergies in the kitchen\n\nDishes with nuts, milk or gluten are marked on the menu. The cook uses a separate board and knife. Whoever is not sure asks the head chef and does not guess.",
    },
  ],
  questions: [
    ["How many reservations were cancelled in 2023?", "database"],
    ["Which guests come from Japan?", "database"],
    ["What did Lena Vogt spend on the minibar?", "database"],
    ["How many bookings came in over the phone?", "database"],
    ["What does a suite cost per night?", "database"],
    ["Which rooms are on the third floor?", "database"],
    ["Total amount charged for parking", "database"],
    ["How many no-shows did we have?", "database"],
    ["List the gold tier guests", "database"],
    ["When does Amara Okafor arrive?", "database"],
    ["How much electricity did the pool use in March?", "files"],
    ["Who works on Wednesday at 6?", "files"],
    ["How many kilograms of salmon did Nordfisk deliver?", "files"],
    ["Which meter had the highest kWh reading?", "files"],
    ["How many hours does Dana Novak work?", "files"],
    ["Which supplier brings the milk?", "files"],
    ["When was the last delivery of bread?", "files"],
    ["How many housekeepers are on shift on Friday?", "files"],
    ["Until when can a guest cancel for free?", "documents"],
    ["What should staff do if there is a fire?", "documents"],
    ["May I bring my dog to breakfast?", "documents"],
    ["How do I clean a bathroom properly?", "documents"],
    ["What happens to an umbrella that someone left in the room?", "documents"],
    ["Who is moved to another hotel when we are overbooked?", "documents"],
    ["What does the night porter have to do?", "documents"],
    ["How are nut allergies handled in the kitchen?", "documents"],
    ["How much did we earn with washing clothes?", "database"],
    ["Which travellers have the best loyalty level?", "database"],
    ["What is the price of the cheapest room?", "database"],
    ["How many stays were called off?", "database"],
    ["How many people booked through a travel agent?", "database"],
    ["What nationality is Tomas Pereira?", "database"],
    ["Who checked in on 2023-03-09?", "database"],
    ["How much fish arrived in February?", "files"],
    ["Who is at the front desk in the evening?", "files"],
    ["Power consumption of the kitchen last winter", "files"],
    ["Which dairy products were brought?", "files"],
    ["How many cooks start work at 14?", "files"],
    ["Weight of goods received from Bakehouse Lund", "files"],
    ["Where do we put things that travellers forget?", "documents"],
    ["Is the elevator safe when it burns?", "documents"],
    ["How much does it cost to call off on the day of arrival?", "documents"],
    ["How long are forgotten items kept?", "documents"],
    ["Which floor may animals stay on?", "documents"],
    ["Who calls the fire brigade?", "documents"],
    ["When are towels changed?", "documents"],
  ].map(([text, source]) => ({ text, source })),
}
