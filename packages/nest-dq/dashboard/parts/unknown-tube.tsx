import { Fragment } from 'preact';
import { nearest } from 'nest-handlers/cli';
import { isUnknownTube } from '../figures/unknown-tube.js';
import { live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';

/** That nobody knows a tube, and which ones may have been meant. */
export function UnknownTube({
  tube,
  linkTo,
}: {
  readonly tube: string;
  /** Address of the same page for another tube. */
  readonly linkTo: (tube: string) => string;
}) {
  const { tubes, processes } = live.value ?? {};
  const known = [
    ...(tubes?.tubes ?? []).filter((each) => !isUnknownTube(each)),
    ...(processes ?? []).flatMap((each) => each.tubes),
  ];
  const similar = nearest(
    tube,
    known.map((each) => each.tube),
  );
  return (
    <div class="card warn">
      <p>{t('tube.unknown')}</p>
      <p>
        {similar.length > 0 && `${t('tube.similar')} `}
        {similar.map((name) => (
          <Fragment key={name}>
            <a class="long" href={linkTo(name)}>
              {name}
            </a>
            {' · '}
          </Fragment>
        ))}
        <a href={hashOf(['tubes'])}>{t('tube.all')}</a>
      </p>
    </div>
  );
}

/** The same above an empty list of a tube. Nothing if the tube is known, or may be. */
export function UnseenTube({
  tube,
  page,
}: {
  readonly tube: string | undefined;
  /** The list. */
  readonly page: string;
}) {
  if (tube === undefined || !isUnseen(tube)) return null;
  return <UnknownTube tube={tube} linkTo={(name) => hashOf([page], { tube: name })} />;
}

/** Whether no node has the tube, and all of them said so. */
export function isUnseen(tube: string): boolean {
  const list = live.value?.tubes;
  if (!list || list.more || list.away.length > 0) return false;
  return list.tubes.every((each) => each.tube !== tube);
}
