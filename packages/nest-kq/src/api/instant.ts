/** An instant, as nest-dq takes it: a Date, milliseconds since 1970, or what Temporal, Day.js and Luxon have. */
export type Instant =
  | Date
  | number
  | { readonly epochMilliseconds: number }
  | {
      /** As Day.js has it. */
      toDate(): Date;
    }
  | {
      /** As Luxon has it. */
      toJSDate(): Date;
    };
