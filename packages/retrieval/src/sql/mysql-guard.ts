/**
 * SQL for MySQL and MariaDB: one SELECT without variables, without files and locks, that calls only functions on the list.
 * Stored functions and those of plug-ins are not on it.
 */
import { checkStrictSelect, SelectRefused, type StrictDialect } from "./strict-select.ts"

const FUNCTIONS: ReadonlySet<string> = new Set(
  (
    "abs acos adddate addtime aes_decrypt any_value ascii asin atan atan2 avg bin bit_and bit_count bit_length bit_or bit_xor " +
    "cast ceil ceiling char char_length character_length charset coalesce coercibility collation concat concat_ws conv convert " +
    "convert_tz cos cot count crc32 cume_dist curdate current_date current_time current_timestamp curtime database date date_add " +
    "date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear degrees dense_rank elt exp export_set extract " +
    "field find_in_set first_value floor format from_base64 from_days from_unixtime get_format greatest group_concat grouping " +
    "hex hour if ifnull inet_aton inet_ntoa inet6_aton inet6_ntoa insert instr interval isnull json_array json_arrayagg " +
    "json_contains json_contains_path json_depth json_extract json_keys json_length json_object json_objectagg json_overlaps " +
    "json_quote json_search json_table json_type json_unquote json_valid json_value lag last_day last_value lcase lead least left " +
    "length ln localtime localtimestamp locate log log10 log2 lower lpad ltrim make_set makedate maketime match max md5 median " +
    "microsecond mid min minute mod month monthname nth_value ntile nullif now oct octet_length ord percent_rank percentile_cont " +
    "percentile_disc period_add period_diff pi position pow power quarter quote radians rand rank regexp_instr regexp_like " +
    "regexp_replace regexp_substr repeat replace reverse right round row_number rpad rtrim sec_to_time second sha sha1 sha2 sign " +
    "sin soundex space sqrt st_area st_astext st_contains st_distance st_geomfromtext st_intersects st_length st_within st_x st_y " +
    "std stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum tan time " +
    "time_format time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_char to_days to_seconds trim truncate ucase " +
    "unhex unix_timestamp upper utc_date utc_time utc_timestamp var_pop var_samp variance version week weekday weekofyear weight_string year yearweek"
  ).split(" "),
)

/** None of them is needed in a SELECT that only reads; a column of that name is written in backquotes. */
const REFUSED_WORDS: ReadonlySet<string> = new Set(
  "into outfile dumpfile lock procedure handler call execute prepare load_file sleep benchmark get_lock for".split(
    " ",
  ),
)

const DIALECT: StrictDialect = {
  // As the session's sql_mode has it: neither ANSI_QUOTES nor NO_BACKSLASH_ESCAPES.
  strings: "'\"",
  names: { "`": "`" },
  hasEscapes: true,
  refusedSymbols: "?:@#{}\\$",
  functions: FUNCTIONS,
  refusedWords: REFUSED_WORDS,
}

/** Databases of the server itself: who is logged in, what they run, and their passwords' hashes. */
const SERVER = new Set(["mysql", "performance_schema", "sys"])

export function checkMysqlSelect(sql: string): void {
  const tokens = checkStrictSelect(sql, DIALECT)
  for (const [i, { kind, text }] of tokens.entries()) {
    const next = tokens[i + 1]
    const isName = kind === "name" || kind === "quoted name"
    if (isName && SERVER.has(text) && next?.kind === "symbol" && next.text === ".") {
      throw new SelectRefused(`the database ${text} is not allowed: it is the server's own`)
    }
  }
}
