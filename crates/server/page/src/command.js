// Commands to type on the machine of the server. They name the store that it serves, where the reader may know it: in another store they
// would do something else.

const PLAIN = /^[\p{L}\p{N}_./:@%+,=-]+$/u;

/** A word as a shell reads it. */
export const word = (text) => (PLAIN.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

/** `command` begins with `chandler`; `who` is the answer of /v1/me, or nothing. */
export function commandFor(command, who) {
  return who?.store ? command.replace(/^chandler/, () => `chandler --store ${word(who.store)}`) : command;
}

/** What lifts every limit of the account that is signed in. */
export const liftingFor = (who) => commandFor(`chandler account set ${word(who.account)} --unlimited`, who);
