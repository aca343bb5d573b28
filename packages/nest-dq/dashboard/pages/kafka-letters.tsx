import { useState } from 'preact/hooks';
import type {
  KafkaFilterWire,
  KafkaLettersWire,
  KafkaLetterWire,
  KafkaPlaceWire,
  KafkaWholeLetterWire,
} from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askBulk } from '../acts/bulk-dialog.js';
import { actOnEach, discardTitle } from '../acts/each.js';
import { askFirst, doAct } from '../acts/one.js';
import { Badge } from '../parts/badge.js';
import { useChoosing } from '../parts/choosing.js';
import { Facts } from '../parts/facts.js';
import { ErrorButton } from '../parts/error-button.js';
import { Failure } from '../parts/failure.js';
import { useLoad } from '../parts/load.js';
import { More } from '../parts/more.js';
import { usePages } from '../parts/pages.js';
import { Payload } from '../parts/payload.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { act, getData } from '../server/requests.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { bytes, count } from '../words/say.js';
import { en, type WordKey } from '../words/words.js';

type Groups = 'all' | 'failed';

/** The dead letters of one topic of Kafka that meet a filter, the newest first. */
export function KafkaLetters({
  cluster,
  topic,
  filter,
}: {
  /** Empty: the one without a name. */
  readonly cluster: string;
  readonly topic: string;
  readonly filter: KafkaFilterWire;
}) {
  const [leaderless, setLeaderless] = useState<readonly number[]>([]);
  const list = usePages<KafkaLetterWire>(
    async (cursor, signal) => {
      const query = { cluster, topic, ...filter, cursor };
      const page = await getData<KafkaLettersWire>('kafka/letters', query, signal);
      if (!signal.aborted) setLeaderless(page.leaderless ?? []);
      return { items: page.letters, cursor: page.cursor };
    },
    [topic, JSON.stringify(filter)],
  );
  const choosing = useChoosing(list.items, idOf);
  const [open, setOpen] = useState<string>();
  const [groups, setGroups] = useState<Groups>('all');
  const { chosen } = choosing;
  const again = () => {
    choosing.clear();
    list.again();
  };
  const where = { ...(cluster !== '' && { cluster }), topic };
  const placeOf = ({ partition, offset }: KafkaLetterWire): KafkaPlaceWire => ({
    ...where,
    partition,
    offset,
  });
  const discardAfterAsking = (title: string, go: () => Promise<unknown>) =>
    askFirst('kafkaDiscard', title, t('kafka.discardText'), t('act.kafkaDiscard'), go);
  const many = { ...where, filter };
  return (
    <>
      {list.error && <Failure error={list.error} />}
      {leaderless.length > 0 && (
        <p class="card warn">
          {t('kafka.leaderless', { partitions: leaderless.map((each) => `${topic}/${each}`).join(', ') })}
        </p>
      )}
      <div class="bar">
        <button data-refresh class="button" onClick={again}>
          {t('again')}
        </button>
        {(may('kafkaReplay') || may('kafkaReplayMany')) && (
          <label class="field">
            <span>{t('kafka.groups')}</span>
            <select value={groups} onChange={({ currentTarget }) => setGroups(currentTarget.value as Groups)}>
              <option value="all">{t('kafka.groups.all')}</option>
              <option value="failed">{t('kafka.groups.failed')}</option>
            </select>
          </label>
        )}
        {chosen.length > 0 && <span>{t('rows.chosen', { rows: count(chosen.length) })}</span>}
        {chosen.length > 0 && (
          <ActButton
            act="kafkaReplay"
            label={t('act.kafkaReplay')}
            onClick={() =>
              actOnEach(chosen, (each) => act('kafkaReplay', { ...placeOf(each), groups }), again)
            }
          />
        )}
        {chosen.length > 0 && (
          <ActButton
            act="kafkaDiscard"
            label={t('act.kafkaDiscard')}
            onClick={() =>
              discardAfterAsking(discardTitle(chosen.length), () =>
                actOnEach(chosen, (each) => act('kafkaDiscard', placeOf(each)), again),
              )
            }
          />
        )}
        {list.items.length > 0 && (
          <ActButton
            act="kafkaReplayMany"
            label={t('act.kafkaReplayMany')}
            onClick={() => askBulk([{ name: 'kafkaReplayMany', body: { ...many, groups } }], again)}
          />
        )}
        {list.items.length > 0 && (
          <ActButton
            act="kafkaDiscardMany"
            label={t('act.kafkaDiscardMany')}
            onClick={() => askBulk([{ name: 'kafkaDiscardMany', body: many }], again)}
          />
        )}
      </div>
      <Table
        label={t('nav.kafka')}
        rows={list.items}
        keyOf={idOf}
        empty={list.error ? '' : t(list.loading ? 'loading' : 'dead.none')}
        below={(letter) => (idOf(letter) === open ? <Letter place={placeOf(letter)} /> : undefined)}
        columns={[
          ...(may('kafkaReplay') || may('kafkaDiscard') ? [choosing.column] : []),
          { head: t('dead.diedAt'), place: 'end', cell: ({ diedAt }) => <Time at={diedAt} /> },
          {
            head: t('kafka.message'),
            place: 'lead',
            cell: ({ origin }) => <span class="long">{originOf(origin)}</span>,
          },
          { head: t('job.key'), cell: ({ key }) => key !== null && <span class="mono long">{key}</span> },
          { head: t('job.attempt'), number: true, cell: ({ attempts }) => count(attempts) },
          {
            head: t('dead.error'),
            cell: (letter) => (
              <ErrorButton
                error={letter.error}
                isOpen={idOf(letter) === open}
                onClick={() => setOpen(idOf(letter) === open ? undefined : idOf(letter))}
              />
            ),
          },
          {
            head: t('acts'),
            quiet: true,
            cell: (letter) => (
              <span class="acts">
                <ActButton
                  act="kafkaReplay"
                  label={t('act.kafkaReplay')}
                  about={idOf(letter)}
                  onClick={() => doAct('kafkaReplay', { ...placeOf(letter), groups }, again)}
                />
                <ActButton
                  act="kafkaDiscard"
                  label={t('act.kafkaDiscard')}
                  about={idOf(letter)}
                  onClick={() =>
                    discardAfterAsking(
                      t('discard.title', { job: letter.key ?? idOf(letter), tube: topic }),
                      () => doAct('kafkaDiscard', placeOf(letter), again),
                    )
                  }
                />
              </span>
            ),
          },
        ]}
      />
      <More list={list} />
    </>
  );
}

/** One letter in full. */
function Letter({ place }: { readonly place: KafkaPlaceWire }) {
  const { data, error } = useLoad(
    (signal) => getData<KafkaWholeLetterWire>('kafka/letter', place, signal),
    [],
  );
  if (error) return <Failure error={error} />;
  if (!data) return <p class="faint">{t('loading')}</p>;
  const { timestamp, why, group, valueBytes, resolved } = data;
  return (
    <div class="stack">
      {resolved && <Badge tone="calm">{t('kafka.resolved')}</Badge>}
      <Facts
        facts={[
          [t('kafka.letter'), `${place.topic} ${idOf(data)}`],
          [t('kafka.message'), originOf(data.origin)],
          [
            t('kafka.stored'),
            timestamp !== undefined && <Time at={new Date(timestamp).toISOString()} relative />,
          ],
          [t('dead.diedAt'), <Time at={data.diedAt} relative />],
          [t('kafka.group'), group],
          [t('dead.why'), why && whyOf(why)],
          [t('kafka.size'), bytes(valueBytes)],
        ]}
      />
      {data.error.stack !== '' && (
        <pre class="code" tabIndex={0} aria-label={t('dead.stack')}>
          {data.error.stack}
        </pre>
      )}
      <Payload path="kafka/letter/payload" query={place} />
    </div>
  );
}

function idOf({ partition, offset }: Pick<KafkaLetterWire, 'partition' | 'offset'>): string {
  return `${partition}/${offset}`;
}

function originOf({ topic, partition, offset }: KafkaLetterWire['origin']): string {
  return partition === undefined || offset === undefined ? topic : `${topic} ${partition}/${offset}`;
}

/** Returns the reason in words; one unknown to this page is returned unchanged. */
function whyOf(why: string): string {
  const key = `died.${why}`;
  return Object.hasOwn(en, key) ? t(key as WordKey) : why;
}
