/**
 * A time of day that a person writes without a date, as `22:00`: the nearest one in the zone of this machine. Also used by
 * the dashboard. Without imports.
 */
const TIME_OF_DAY = /^([01]?\d|2[0-3]):([0-5]\d)$/;

const DAYS = [-1, 0, 1] as const;
const MINUTE_MS = 60_000;
/** In which a clock that is set back has been. */
const SET_MS = 180 * MINUTE_MS;

/** @param direction 1: after now; -1: before. null: the text is no time of day. */
export function nearestTimeOfDay(text: string, nowMs: number, direction: 1 | -1): Date | null {
  const [, hour, minute] = TIME_OF_DAY.exec(text.trim()) ?? [];
  if (minute === undefined) return null;
  const times = DAYS.flatMap((days) => {
    const time = new Date(nowMs);
    time.setDate(time.getDate() + days);
    time.setHours(Number(hour), Number(minute), 0, 0);
    return [time.getTime(), secondTime(time)];
  });
  const distances = times.map((ms) => (ms - nowMs) * direction).filter((distance) => distance > 0);
  return new Date(nowMs + direction * Math.min(...distances));
}

/** The same time of the day again, where the clock is set back meanwhile; else the time itself. */
function secondTime(time: Date): number {
  const later = new Date(time.getTime() + SET_MS);
  const second = new Date(time.getTime() + (later.getTimezoneOffset() - time.getTimezoneOffset()) * MINUTE_MS);
  return second.getHours() === time.getHours() && second.getMinutes() === time.getMinutes()
    ? second.getTime()
    : time.getTime();
}
