import { useEffect, useState } from 'preact/hooks';
import type { KafkaCountWire, KafkaFilterWire, KafkaTopicsWire } from '../../src/dashboard/wire.js';
import { Failure } from '../parts/failure.js';
import { useLoad } from '../parts/load.js';
import { Table } from '../parts/table.js';
import { TimeFields } from '../parts/time-fields.js';
import { Time } from '../parts/time.js';
import { useTypedText } from '../parts/typed-text.js';
import { getData } from '../server/requests.js';
import { hashOf } from '../state/route.js';
import { go, route } from '../state/router.js';
import { session } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { KafkaLetters } from './kafka-letters.js';

/** Messages of Kafka that no run could handle. */
export function KafkaPage() {
  const clusters = session.value?.kafka;
  const cluster = route.value.query['cluster'] ?? clusters?.[0];
  if (!clusters) return null;
  if (cluster === undefined) return <p>{t('app.noPage')}</p>;
  return <OfCluster key={cluster} clusters={clusters} cluster={cluster} />;
}

function OfCluster({
  clusters,
  cluster,
}: {
  readonly clusters: readonly string[];
  /** Empty: the one without a name. */
  readonly cluster: string;
}) {
  const { topic, origin, error, key, from, to } = route.value.query;
  const topics = useLoad((signal) => getData<KafkaTopicsWire>('kafka/topics', { cluster }, signal), []);
  const named = clusters.length > 1 ? cluster : undefined;
  const show = (changed: Readonly<Record<string, string | undefined>>) =>
    go(['kafka'], { cluster: named, topic, origin, error, key, from, to, ...changed });
  const filter: KafkaFilterWire = {
    ...(origin && { origin }),
    ...(error && { error }),
    ...(key && { key }),
    ...(from && { from }),
    ...(to && { to }),
  };
  return (
    <>
      <div class="title">
        <h1>{t('nav.kafka')}</h1>
        {named !== undefined && (
          <Select
            label={t('kafka.cluster')}
            value={cluster}
            options={clusters.map((name) => [name, name === '' ? t('kafka.unnamed') : name])}
            onChange={(each) => go(['kafka'], { cluster: each })}
          />
        )}
        <Select
          label={t('kafka.topic')}
          value={topic ?? ''}
          options={[
            ['', t('kafka.allTopics')],
            ...[...new Set([...(topics.data ?? []), ...(topic === undefined ? [] : [topic])])].map(
              (name) => [name, name] as const,
            ),
          ]}
          onChange={(each) => go(['kafka'], { cluster: named, topic: each || undefined })}
        />
        {topic !== undefined && (
          <>
            <Text label={t('kafka.origin')} value={origin} onChange={(each) => show({ origin: each })} />
            <Text label={t('job.key')} value={key} onChange={(each) => show({ key: each })} />
            <Text label={t('dead.errorText')} value={error} onChange={(each) => show({ error: each })} />
            <TimeFields direction="last" from={from} to={to} onChange={show} />
          </>
        )}
      </div>
      {topics.error && <Failure error={topics.error} />}
      {topic === undefined ? (
        <Topics cluster={cluster} named={named} topics={topics.data} again={topics.again} />
      ) : (
        <KafkaLetters key={topic} cluster={cluster} topic={topic} filter={filter} />
      )}
    </>
  );
}

/** All topics, each with its letters. */
function Topics({
  cluster,
  named,
  topics,
  again,
}: {
  readonly cluster: string;
  readonly named: string | undefined;
  readonly topics: KafkaTopicsWire | undefined;
  readonly again: () => void;
}) {
  const other = useTypedText('');
  const counts = useCounts(cluster, topics);
  return (
    <>
      <div class="bar">
        <button data-refresh class="button" onClick={again}>
          {t('again')}
        </button>
        <form
          class="bar"
          onSubmit={(event) => {
            event.preventDefault();
            const topic = other.current?.value.trim() ?? '';
            if (topic !== '') go(['kafka'], { cluster: named, topic });
          }}
        >
          <input
            ref={other}
            type="search"
            aria-label={t('kafka.otherTopic')}
            placeholder={t('kafka.otherTopic')}
          />
          <button class="button">{t('kafka.show')}</button>
        </form>
      </div>
      <p class="faint">{t('kafka.about')}</p>
      {topics && (
        <Table
          label={t('nav.kafka')}
          rows={topics}
          keyOf={(topic) => topic}
          empty={t('kafka.noTopics')}
          columns={[
            {
              head: t('kafka.topic'),
              place: 'lead',
              cell: (topic) => (
                <a class="long" href={hashOf(['kafka'], { cluster: named, topic })}>
                  {topic}
                </a>
              ),
            },
            {
              head: t('kafka.letters'),
              place: 'end',
              number: true,
              cell: (topic) => <Letters counted={counts.get(topic)} />,
            },
            {
              head: t('kafka.newest'),
              place: 'named',
              cell: (topic) => {
                const { data } = counts.get(topic) ?? {};
                return data?.newest !== undefined && <Time at={data.newest} relative />;
              },
            },
          ]}
        />
      )}
    </>
  );
}

interface Counted {
  readonly data?: KafkaCountWire;
  readonly error?: Error;
}

/** Each topic is asked about by itself: one that does not answer holds up no other. */
function useCounts(cluster: string, topics: KafkaTopicsWire | undefined): ReadonlyMap<string, Counted> {
  const [counts, setCounts] = useState<ReadonlyMap<string, Counted>>(new Map());
  useEffect(() => {
    const stop = new AbortController();
    const note = (topic: string, counted: Counted) =>
      stop.signal.aborted || setCounts((others) => new Map([...others, [topic, counted]]));
    setCounts(new Map());
    for (const topic of topics ?? [])
      getData<KafkaCountWire>('kafka/count', { cluster, topic }, stop.signal).then(
        (data) => note(topic, { data }),
        (error: Error) => note(topic, { error }),
      );
    return () => stop.abort();
  }, [topics]);
  return counts;
}

function Letters({ counted }: { readonly counted: Counted | undefined }) {
  if (!counted) return <span class="faint">{t('loading')}</span>;
  if (!counted.data) return <span class="bad">{counted.error?.message}</span>;
  const { letters, more, leaderless } = counted.data;
  return (
    <>
      {more ? t('kafka.atLeast', { letters: count(letters) }) : count(letters)}
      {leaderless && <div class="bad">{t('kafka.uncounted', { partitions: leaderless.join(', ') })}</div>}
    </>
  );
}

function Select({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, name: string])[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <label class="field">
      <span class="unseen">{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Text({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}) {
  const input = useTypedText(value ?? '');
  return (
    <input
      ref={input}
      type="search"
      aria-label={label}
      placeholder={label}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
    />
  );
}
