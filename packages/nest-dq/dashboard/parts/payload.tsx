import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PayloadWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { getData } from '../server/requests.js';
import { session } from '../state/session.js';
import { bytesText } from '../figures/numbers.js';
import { language, t } from '../words/language.js';
import { CopyButton } from './copy-button.js';
import { Failure } from './failure.js';
import { JsonView } from './json-view.js';
import { useLoad } from './load.js';

interface PayloadProps {
  readonly path: string;
  readonly query?: object;
  /** Lets the viewer run the job with another payload. */
  readonly edit?: ((payload: unknown) => void) | undefined;
}

/** A payload, once somebody asks for it: each look is one for the server to allow. */
export function Payload(props: PayloadProps) {
  const [shown, setShown] = useState(false);
  if (!session.value?.payloads) return null;
  if (shown)
    return (
      <Focused>
        <Shown {...props} />
      </Focused>
    );
  return (
    <button class="button" onClick={() => setShown(true)}>
      {t('payload.show')}
    </button>
  );
}

/** Takes over the focus of the button in whose place it is. */
function Focused({ children }: { readonly children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => element.current?.focus(), []);
  return (
    <div ref={element} class="focused" tabIndex={-1}>
      {children}
    </div>
  );
}

function Shown({ path, query = {}, edit }: PayloadProps) {
  const { data, error } = useLoad((signal) => getData<PayloadWire>(path, query, signal), [path]);
  if (!data) return error ? <Failure error={error} /> : <p class="faint">{t('loading')}</p>;
  const { payload, bytes, encoded } = data;
  if (encoded)
    return (
      <>
        {error && <Failure error={error} />}
        <Encoded {...encoded} isEditable={edit !== undefined} />
      </>
    );
  if (payload === undefined && bytes === undefined) return <p class="faint">{t('payload.none')}</p>;
  return (
    <>
      {error && <Failure error={error} />}
      {bytes === undefined ? (
        <JsonView value={payload} label={t('payload')} />
      ) : (
        <pre class="code" tabIndex={0} aria-label={t('payload.bytes')}>
          {bytes}
        </pre>
      )}
      <div class="bar">
        <CopyButton text={bytes ?? JSON.stringify(payload, null, 2)} what={t('payload')} />
        {edit && bytes === undefined && (
          <ActButton act="runEdited" label={t('act.runEdited')} onClick={() => edit(payload)} />
        )}
      </div>
    </>
  );
}

/** A payload that a codec wrote: only the application can read and write it. */
function Encoded({
  codec,
  size,
  text,
  isEditable,
}: NonNullable<PayloadWire['encoded']> & { readonly isEditable: boolean }) {
  return (
    <>
      <p class="faint">{t('payload.encoded', { codec, size: bytesText(size, language.value) })}</p>
      {text !== undefined && <EncodedText text={text} />}
      <div class="bar">
        {text !== undefined && <CopyButton text={text} what={t('payload')} />}
        {isEditable && (
          <ActButton
            act="runEdited"
            label={t('act.runEdited')}
            blocked={t('payload.noEdit', { codec })}
            onClick={() => undefined}
          />
        )}
      </div>
    </>
  );
}

function EncodedText({ text }: { readonly text: string }) {
  const label = t('payload');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return (
      <pre class="code" tabIndex={0} aria-label={label}>
        {text}
      </pre>
    );
  }
  return <JsonView value={value} label={label} />;
}
