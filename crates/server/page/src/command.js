// Commands for the terminal of the server. They name the store that it serves, if the user may know
// it: run on another store they would have another effect.

const PLAIN = /^[\p{L}\p{N}_./:@%+,=-]+$/u;

/** A word, quoted for a shell. */
export const word = (text) => (PLAIN.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`);

/** `command` starts with `chandler`; `who` is the response of /v1/me, or undefined. */
export function commandFor(command, who) {
  return who?.store ? command.replace(/^chandler/, () => `chandler --store ${word(who.store)}`) : command;
}

/** The command that lifts every limit of the signed-in account. */
export const liftingFor = (who) => commandFor(`chandler account set ${word(who.account)} --unlimited`, who);
