import type { ActPageWire, ActWire } from '../../src/dashboard/wire.js';
import { ErrorLine } from '../parts/error-line.js';
import { Failure } from '../parts/failure.js';
import { More } from '../parts/more.js';
import { usePages } from '../parts/pages.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { getData } from '../server/requests.js';
import { live } from '../state/live.js';
import { refOf } from '../state/job-address.js';
import { hashOf } from '../state/route.js';
import { session } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { changeText, filterText } from '../words/scope.js';
import { en, type WordKey } from '../words/words.js';

/** Operators' acts in all processes. Reloads when there is a new one. */
export function ActsPage() {
  const latest = live.value?.acts?.acts[0]?.id ?? '';
  const list = usePages(
    async (cursor, signal) => {
      const { acts: items, ...next } = await getData<ActPageWire>('acts', { cursor }, signal);
      return { items, ...next };
    },
    [latest],
  );
  return (
    <>
      <h1>{t('nav.acts')}</h1>
      <p class="faint">{t('acts.about')}</p>
      {list.error && <Failure error={list.error} />}
      <Table
        label={t('nav.acts')}
        rows={list.items}
        keyOf={({ id }) => id}
        empty={list.error ? '' : t(list.loading ? 'loading' : 'acts.none')}
        columns={[
          { head: t('acts.at'), place: 'end', cell: ({ at }) => <Time at={at} /> },
          { head: t('acts.by'), cell: ({ by }) => <span class="long">{by}</span> },
          { head: t('acts.act'), place: 'lead', cell: ({ act }) => nameOf(act) },
          { head: t('acts.on'), cell: On },
          { head: t('acts.count'), number: true, cell: (each) => count(each.count) },
          {
            head: t('dead.error'),
            cell: ({ error }) =>
              error && <ErrorLine error={{ name: error.code, message: withoutCode(error) }} />,
          },
        ]}
      />
      <More list={list} />
    </>
  );
}

/** The message of the library's own errors begins with the code. */
function withoutCode({ code, message }: NonNullable<ActWire['error']>): string {
  return message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message;
}

/** An act that this page does not know keeps the name that the library has for it. */
function nameOf(act: string): string {
  const key = `act.${act}`;
  return Object.hasOwn(en, key) ? t(key as WordKey) : act;
}

function On({ on }: ActWire) {
  const { tube, id, key, node, topic, cluster, filter, change } = on;
  return (
    <>
      {tube !== undefined && <a href={hashOf(['tubes', tube])}>{tube}</a>} {node}{' '}
      {tube !== undefined && id !== undefined && (
        <a class="mono long" href={hashOf(['job'], refOf({ tube, id, key }))}>
          {key ?? id}
        </a>
      )}{' '}
      {topic !== undefined && (
        <>
          {session.value?.kafka.includes(cluster ?? '') ? (
            <a href={hashOf(['kafka'], { cluster: cluster ?? '', topic })}>{topic}</a>
          ) : (
            topic
          )}{' '}
          {cluster} {id}
        </>
      )}{' '}
      {filter !== undefined && <span class="faint long">{filterText(filter)}</span>}
      {change !== undefined && <span class="long"> → {changeText(change)}</span>}
    </>
  );
}
