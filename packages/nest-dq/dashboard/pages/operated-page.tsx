import type { OperatedWire } from '../../src/dashboard/wire.js';
import { Failure } from '../parts/failure.js';
import { useLoad } from '../parts/load.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { getData } from '../server/requests.js';
import { now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { en, type WordKey } from '../words/words.js';
import { count } from '../words/say.js';

const FRESH = 10_000;

/** The acts of operators that this process saw. */
export function OperatedPage() {
  const turn = Math.floor(now.value / FRESH);
  const { data, error } = useLoad((signal) => getData<OperatedWire>('operated', {}, signal), [turn]);
  return (
    <>
      <h1>{t('nav.operated')}</h1>
      <p class="faint">{t('operated.about')}</p>
      {error && <Failure error={error} />}
      <Table
        label={t('nav.operated')}
        rows={data ?? []}
        keyOf={({ at, act, by, on }) => `${at} ${act} ${by} ${on.id ?? ''}`}
        empty={error ? '' : t(data ? 'operated.none' : 'loading')}
        columns={[
          { head: t('operated.at'), cell: ({ at }) => <Time at={at} /> },
          { head: t('operated.by'), cell: ({ by }) => <span class="long">{by}</span> },
          { head: t('operated.act'), cell: ({ act }) => nameOf(act) },
          { head: t('operated.on'), cell: On },
          { head: t('operated.count'), number: true, cell: (each) => count(each.count) },
          {
            head: t('dead.error'),
            cell: ({ error: failed }) => failed && <span class="bad">{failed.message}</span>,
          },
        ]}
      />
    </>
  );
}

/** An act that this page does not know keeps the name that the library has for it. */
function nameOf(act: string): string {
  const key = `act.${act}`;
  return Object.hasOwn(en, key) ? t(key as WordKey) : act;
}

function On({ on }: OperatedWire[number]) {
  const { tube, id, node, filter, change } = on;
  return (
    <>
      {tube !== undefined && <a href={hashOf(['tubes', tube])}>{tube}</a>} {node}{' '}
      {tube !== undefined && id !== undefined && (
        <a class="mono long" href={hashOf(['job'], { tube, id })}>
          {id}
        </a>
      )}{' '}
      {filter !== undefined && <code class="long">{JSON.stringify(filter)}</code>}{' '}
      {change !== undefined && <code class="long">{JSON.stringify(change)}</code>}
    </>
  );
}
