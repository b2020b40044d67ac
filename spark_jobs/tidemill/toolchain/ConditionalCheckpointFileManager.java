package tidemill;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.Arrays;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.AbstractFileContextBasedCheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * Files of checkpoints and sink logs in an object store, each put whole when it is closed.
 *
 * A file that must not replace another is put on condition that there is none. Whoever comes second
 * gets FileAlreadyExistsException, as Spark's logs expect. Spark's own manager for object stores
 * only logs when closing fails: a batch whose entry was never stored would count as committed.
 */
public class ConditionalCheckpointFileManager extends AbstractFileContextBasedCheckpointFileManager {

  // As user metadata of an object, it tells whether a put was ours whose answer was lost.
  private static final String WRITER = "tidemill-writer";

  private final FileSystem store;

  public ConditionalCheckpointFileManager(Path path, Configuration configuration) throws IOException {
    super(path, configuration);
    this.store = path.getFileSystem(configuration);
    if (!this.store.hasPathCapability(path, "fs.option.create.conditional.overwrite")) {
      throw new IOException(path + " is in a store without conditional put.");
    }
  }

  public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
    try {
      String writer = UUID.randomUUID().toString();
      FSDataOutputStreamBuilder builder = this.store.createFile(path);
      builder.recursive();
      builder.overwrite(overwrite);
      builder.opt("fs.s3a.create.header." + WRITER, writer);
      if (!overwrite) {
        builder.must("fs.option.create.conditional.overwrite", true);
      }
      return new Put(this.store, path, (FSDataOutputStream) builder.build(), overwrite, writer);
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  /** A file that is there once it is closed. */
  public static class Put extends CheckpointFileManager.CancellableFSDataOutputStream {
    private final FileSystem store;
    private final Path path;
    private final FSDataOutputStream stream;
    private final boolean overwrite;
    private final String writer;
    private boolean ended = false;

    public Put(FileSystem store, Path path, FSDataOutputStream stream, boolean overwrite, String writer) {
      super(stream);
      this.store = store;
      this.path = path;
      this.stream = stream;
      this.overwrite = overwrite;
      this.writer = writer;
    }

    public synchronized void cancel() {
      if (!this.ended) {
        this.ended = true;
        this.stream.abort();
      }
    }

    public synchronized void close() throws IOException {
      if (this.ended) {
        return;
      }
      this.ended = true;
      try {
        this.stream.close();
      } catch (IOException error) {
        String found = this.writerOf();
        if (this.writer.equals(found)) {
          return;
        }
        if (this.overwrite || found == null) {
          throw error;
        }
        FileAlreadyExistsException refusal = new FileAlreadyExistsException(this.path + " is there already.");
        refusal.initCause(error);
        throw refusal;
      }
    }

    /** Who put the file that is there: null where there is none, empty where it does not say. */
    private String writerOf() throws IOException {
      try {
        byte[] value = (byte[]) this.store.getXAttrs(this.path).get("header." + WRITER);
        return value == null ? "" : new String(value, "UTF-8");
      } catch (FileNotFoundException error) {
        return null;
      }
    }
  }
}
