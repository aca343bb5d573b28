import { useId, useMemo, useState } from 'preact/hooks';
import type { ForecastWire } from '../../src/dashboard/wire.js';
import { Columns } from '../charts/columns.js';
import { capacityLine, spanOf, type Span } from '../figures/scales.js';
import { offsetAt } from '../figures/times.js';
import { Dialog } from '../parts/dialog.js';
import { Facts } from '../parts/facts.js';
import { Failure } from '../parts/failure.js';
import { useLoad } from '../parts/load.js';
import { getData, inPath } from '../server/requests.js';
import { showDialog } from '../state/dialog.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { capacityText, latenessText } from '../words/lateness.js';
import { count, roundTime } from '../words/say.js';
import { askBulk } from './bulk-dialog.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { durationMs, newTimeOf } from './new-time.js';

/** Jobs of a tube that are due in a part of the timeline. Times in ms. */
export interface Peak {
  readonly tube: string;
  readonly from: number;
  readonly to: number;
  readonly jobs: number;
}

/** Asks over how long the jobs are to be spread, shows how it will be, and spreads them. */
export function askSpread(peak: Peak, after: () => void): void {
  showDialog(<SpreadDialog peak={peak} after={after} />);
}

const MAX_BARS = 40;
const FIRST = '30m';

function SpreadDialog({ peak, after }: { readonly peak: Peak; readonly after: () => void }) {
  const { tube, from, to, jobs } = peak;
  const confirming = useConfirming('rescheduleMany');
  const [text, setText] = useState(FIRST);
  const { when, problem } = newTimeOf('spread', text, now.peek());
  const length = when && durationMs(text);
  const id = useId();
  const iso = (at: number) => new Date(at).toISOString();
  const filter = { dueFrom: iso(from), dueTo: iso(to) };
  const span = useMemo(() => length && spanAround(peak, length), [length, from, to]);
  const { data, error } = useLoad(
    async (signal) => (span ? loadBoth(tube, span, { ...filter, spread: text.trim() }, signal) : undefined),
    [tube, span, text],
  );
  return (
    <Dialog title={t('spread.title', { tube })}>
      <p>{t('spread.what', { jobs: count(jobs), from: roundTime(from), to: roundTime(to) })}</p>
      <p class="faint">{t('spread.rule')}</p>
      <ConfirmForm
        confirming={confirming}
        label={t('spread.go')}
        disabled={!when}
        work={async () => {
          askBulk([{ name: 'rescheduleMany', body: { tube, filter, when: when! } }], after);
          return undefined;
        }}
      >
        <label>
          <span>{t('spread.over')}</span>
          <input
            type="text"
            value={text}
            aria-invalid={problem !== undefined}
            aria-describedby={id}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <p id={id} class="hint" role="status">
          {problem && t(problem)}
        </p>
        {error && <Failure error={error} />}
        {data && when && <Preview {...data} />}
      </ConfirmForm>
    </Dialog>
  );
}

interface Both {
  readonly span: Span;
  readonly before: ForecastWire;
  readonly after: ForecastWire;
}

/** How late the jobs are without and with the spread, and how they come due with it. */
function Preview({ span, before, after }: Both) {
  const { capacity, stopped } = after;
  const layers = [
    { name: t('timeline.jobs'), colour: 'series-0', values: after.buckets.map(({ jobs }) => jobs) },
  ];
  const shades = after.late.map(({ from, to }) => ({ from: Date.parse(from), to: Date.parse(to) }));
  const line = capacity && capacityLine(span, capacity.perMinute);
  return (
    <>
      {capacity && !stopped ? (
        <Facts
          facts={[
            [t('spread.before'), latenessText(before)],
            [t('spread.after'), latenessText(after)],
            [t('capacity'), capacityText(capacity)],
          ]}
        />
      ) : (
        <p class="faint">{t(stopped ? `late.${stopped}` : 'late.unknown')}</p>
      )}
      <Columns label={t('spread.chart')} span={span} layers={layers} overlay={{ shades, line }} />
    </>
  );
}

/** From the first job to half the length after the last one, so that what is late after it is seen, too. */
function spanAround({ from, to }: Peak, length: number): Span {
  const begin = Math.max(from, now.peek());
  const end = Math.max(to, begin + length);
  return spanOf(Math.min(from, begin), end + (end - begin) / 2, MAX_BARS, offsetAt);
}

async function loadBoth(
  tube: string,
  span: Span,
  spread: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Both> {
  const edges = span.edges.map((at) => new Date(at).toISOString()).join(',');
  const path = `tubes/${inPath(tube)}/forecast`;
  const [before, after] = await Promise.all([
    getData<ForecastWire>(path, { edges }, signal),
    getData<ForecastWire>(path, { edges, ...spread }, signal),
  ]);
  return { span, before, after };
}
